/*
 * order.c
 *		See order.h.
 */
#include "postgres.h"

#include "index/order.h"

void
order_raise(void)
{
	elog(ERROR, "keys of an index do not compare consistently");
}

void
order_distrust(Order *order)
{
	if (order->keys == KEYS_BY_OPERATOR)
		order_raise();
	order->keys = KEYS_BY_OPERATOR;
}
