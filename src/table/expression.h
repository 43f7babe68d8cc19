/*
 * expression.h
 *		SQL expressions that options have as texts.
 */
#ifndef PGBULK_EXPRESSION_H
#define PGBULK_EXPRESSION_H

#include "postgres.h"

#include "nodes/nodes.h"

typedef struct ExpressionSource
{
	const char *option;
	const char *text;
} ExpressionSource;

/* The parse tree of a bare expression.  Errors: 42601 where it is none, or more than one. */
extern Node *expression_parse(const ExpressionSource *source);

/*
 * For an ErrorContextCallback whose arg is the source: positions of errors are those within the
 * expression, as they have no meaning in the calling statement.
 */
extern void expression_error_callback(void *arg);

#endif							/* PGBULK_EXPRESSION_H */
