/*
 * expression.c
 *		See expression.h.
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "table/expression.h"

static void
refuse(const ExpressionSource *source)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 strcmp(source->option, "where") == 0 ?
			 errmsg("option \"where\" must be one boolean expression") :
			 errmsg("each expression of option \"%s\" must be a single one", source->option)));
}

Node *
expression_parse(const ExpressionSource *source)
{
	List	   *parsed = raw_parser(source->text, RAW_PARSE_PLPGSQL_EXPR);
	SelectStmt *select = castNode(SelectStmt, linitial_node(RawStmt, parsed)->stmt);
	ResTarget  *column;

	if (list_length(select->targetList) != 1 || select->distinctClause != NIL ||
		select->fromClause != NIL || select->whereClause != NULL ||
		select->groupClause != NIL || select->havingClause != NULL ||
		select->windowClause != NIL || select->sortClause != NIL ||
		select->limitOffset != NULL || select->limitCount != NULL ||
		select->lockingClause != NIL || select->op != SETOP_NONE)
		refuse(source);

	/* the expression must be unnamed, and not a bare star */
	column = linitial_node(ResTarget, select->targetList);
	if (column->name != NULL ||
		(IsA(column->val, ColumnRef) &&
		 IsA(linitial(((ColumnRef *) column->val)->fields), A_Star)))
		refuse(source);
	return column->val;
}

void
expression_error_callback(void *arg)
{
	const ExpressionSource *source = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(source->text);
	}
	errcontext("option \"%s\" of bulk_load", source->option);
}
