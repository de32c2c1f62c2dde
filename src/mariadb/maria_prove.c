/* SPDX-License-Identifier: ISC
 *
 * Self-tests for administrators. */
#include <string.h>

#include "mariadb/maria.h"

static struct sql_rows *ask_row(const struct config *config, const char *text, struct fault *fault)
{
    struct sql_session *maria = maria_open(config, "oncedrop check", fault);
    struct sql_rows *rows = NULL;
    if (maria == NULL)
        return NULL;
    maria_add(maria, text, 1, "");
    if (maria_send(maria, fault))
        rows = maria_take(maria, 0, fault);
    maria_close(maria);
    return rows;
}

static enum sql_proof prove_durability(const struct config *config, struct fault *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ask_row(config, "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin AND @@sync_binlog <> 1", ret);
    if (rows == NULL)
        return SQL_PROOF_BAD;
    if (!maria_is_durable(rows, ret))
        return SQL_PROOF_DOUBTFUL; /* only with database.durability = server */
    fault_set(ret, "a COMMIT is on the disk when it is answered (innodb_flush_log_at_trx_commit)");
    return SQL_PROOF_GOOD;
}

/* The longest statement has a References field of 1 MiB: 12 MiB as JSON in hexadecimal. */
static enum sql_proof prove_packet(const struct config *config, struct fault *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ask_row(config, "SELECT @@max_allowed_packet", ret);
    if (rows == NULL)
        return SQL_PROOF_BAD;
    int64_t most = sql_number(rows, 0, 0);
    bool good = most >= INT64_C(16) << 20;
    fault_set(ret, "max_allowed_packet = %lld%s", (long long)most,
              good ? "" : ": some messages cannot be recorded, and are deferred; set it to 16M");
    return good ? SQL_PROOF_GOOD : SQL_PROOF_BAD;
}

/* In a cluster, GET_LOCK and row locks are each node's own. */
static enum sql_proof prove_cluster(const struct config *config, struct fault *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ask_row(config, "SELECT @cluster", ret);
    if (rows == NULL)
        return SQL_PROOF_BAD; /* deliveries fail with this error, too */
    fault_set(ret, "%s",
              sql_number(rows, 0, 0) == 0
                  ? "the server is no node of a Galera cluster"
                  : "the server is a node of a Galera cluster, whose nodes exclude each other by leases");
    return SQL_PROOF_GOOD;
}

/* A proxy that spreads a session's statements over several would lose locks and transactions. */
static enum sql_proof prove_session(const struct config *config, struct fault *ret)
{
    struct sql_session *maria = maria_open(config, "oncedrop check", ret);
    int64_t numbers[3] = {0};
    bool asked = maria != NULL;
    for (size_t i = 0; asked && i < G_N_ELEMENTS(numbers); i++) {
        maria_add(maria, "SELECT CONNECTION_ID()", 1, "");
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = maria_send(maria, ret) ? maria_take(maria, 0, ret) : NULL;
        asked = rows != NULL;
        numbers[i] = asked ? sql_number(rows, 0, 0) : 0;
        (void)maria_finish(maria);
    }
    maria_close(maria);
    if (!asked)
        return SQL_PROOF_BAD;
    bool same = numbers[0] == numbers[1] && numbers[1] == numbers[2];
    fault_set(ret, "%s",
              same ? "statements of a session reach one session of the server"
                   : "statements of one session reach several of the server: a proxy is in between, which must keep a"
                     " session together once it has called GET_LOCK");
    return same ? SQL_PROOF_GOOD : SQL_PROOF_DOUBTFUL;
}

enum sql_proof maria_prove(const struct config *config, bool connects, size_t n, const char **ret_name,
                           struct fault *ret)
{
    static const struct {
        const char *name;
        enum sql_proof (*prove)(const struct config *config, struct fault *ret);
    } proofs[] = {
        {"durability", prove_durability},
        {"packets", prove_packet},
        {"sessions", prove_session},
        {"cluster", prove_cluster},
    };
    if (n >= G_N_ELEMENTS(proofs) || !connects)
        return SQL_PROOF_NONE;
    *ret_name = proofs[n].name;
    return proofs[n].prove(config, ret);
}
