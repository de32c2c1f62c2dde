/* SPDX-License-Identifier: ISC */
#include <gmime/gmime.h>

#include "message/decode.h"

/* The first mailbox of an address list, groups looked into. */
static const char *first_mailbox(InternetAddressList *list, int depth)
{
    for (int i = 0; list != NULL && i < internet_address_list_length(list); i++) {
        InternetAddress *item = internet_address_list_get_address(list, i);
        const char *found = NULL;
        if (INTERNET_ADDRESS_IS_MAILBOX(item))
            found = internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(item));
        else if (INTERNET_ADDRESS_IS_GROUP(item) && depth == 0)
            found = first_mailbox(internet_address_group_get_members(INTERNET_ADDRESS_GROUP(item)), 1);
        if (found != NULL && *found != '\0')
            return found;
    }
    return NULL;
}

char *decode_from(const struct message *message)
{
    size_t length;
    char *value OD_CLEANUP(base_free) = message_header(message, "From", &length);
    if (value == NULL)
        return NULL;
    char *text OD_CLEANUP(base_free) = decode_scrub(value, length);
    InternetAddressList *list = internet_address_list_parse(NULL, text);
    const char *found = first_mailbox(list, 0);
    char *address = found != NULL ? base_strdup(found) : NULL;
    g_clear_object(&list);
    return address;
}
