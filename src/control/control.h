/*
 * control.h
 *		Translates a control file of pg_bulkload 3.1 into a call of
 *		bulk_load.
 */
#ifndef PGBULK_CONTROL_H
#define PGBULK_CONTROL_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct ControlCall
{
	char	   *statement;		/* NULL if there are obstacles */
	List	   *obstacles;		/* of char *: lines that cannot be translated */
	List	   *notes;			/* of char *: lines whose effect differs here */
} ControlCall;

/*
 * Reads the control file and returns the equivalent call.  Relative paths in it
 * are relative to its folder.  schema is that of bulk_load.  Allocates in the current context.
 *
 * Errors: 42501 without pg_read_server_files; 22023 for a relative path; 54000
 * for a file too long to be a control file; 22021 for one that is not valid
 * text in the database encoding; file system errors.
 */
extern ControlCall *control_read(const char *path, const char *schema);

#endif							/* PGBULK_CONTROL_H */
