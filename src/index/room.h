/*
 * room.h
 *		Large arrays, on huge pages where these can be had.
 */
#ifndef PGBULK_ROOM_H
#define PGBULK_ROOM_H

#include "postgres.h"

extern void *room_take(MemoryContext context, Size size);

/* Room for one more in an array of n elements, NULL if there is none yet; *room: how many there are places for. */
extern void *room_for_one(MemoryContext context, void *array, Size n, Size *room,
						  Size size);

#endif							/* PGBULK_ROOM_H */
