/*
 * control.h
 *		A control file of pg_bulkload 3.1, as a call of bulk_load.
 */
#ifndef PGBULK_CONTROL_H
#define PGBULK_CONTROL_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct ControlCall
{
	char	   *statement;		/* NULL where there are obstacles */
	List	   *obstacles;		/* of char *: lines that nothing here does the work of */
	List	   *notes;			/* of char *: lines that mean something else here */
} ControlCall;

/*
 * Reads the control file and says which call does the same.  Relative paths in
 * it are relative to its folder.  schema is that of bulk_load, or NULL where the
 * search path finds it.  Memory: the current context.
 *
 * Errors: 42501 without pg_read_server_files; 22023 for a relative path;
 * 54000 for a file that is too long to be a control file; 22021 for one that is not text in
 * the database encoding; the file system's.
 */
extern ControlCall *control_read(const char *path, const char *schema);

#endif							/* PGBULK_CONTROL_H */
