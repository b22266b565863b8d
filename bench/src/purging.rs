//! Purges by hand, for the floor: loops of batched DELETEs that carry their key, and the one DELETE.

/// A DO block that deletes what finished more than 90 days ago in batches, by the kit's own index order. It moves along
/// the index from key to key: no row is looked at twice, none is sorted, nothing is counted or recorded.
pub fn loop_by_hand(table: &str, id: &str, finished_at: &str, batch: i32) -> String {
    format!(
        "DO $$
        DECLARE
            v_from {table};
            v_to {table};
        BEGIN
            v_from.{finished_at} := '-infinity';
            v_from.{id} := (SELECT min({id}) FROM {table});
            LOOP
                SELECT {finished_at}, {id} INTO v_to.{finished_at}, v_to.{id}
                FROM (
                    SELECT {finished_at}, {id} FROM {table}
                    WHERE ({finished_at}, {id}) > (v_from.{finished_at}, v_from.{id})
                    AND {finished_at} < now() - interval '90 days'
                    ORDER BY {finished_at}, {id}
                    LIMIT {batch}
                ) AS b
                ORDER BY {finished_at} DESC, {id} DESC
                LIMIT 1;
                EXIT WHEN NOT FOUND;

                DELETE FROM {table}
                WHERE ({finished_at}, {id}) > (v_from.{finished_at}, v_from.{id})
                AND ({finished_at}, {id}) <= (v_to.{finished_at}, v_to.{id});
                COMMIT;
                v_from := v_to;
            END LOOP;
        END;
        $$"
    )
}

/// All of it in one transaction.
pub fn one_delete(table: &str, finished_at: &str) -> String {
    format!("DELETE FROM {table} WHERE {finished_at} < now() - interval '90 days'")
}

/// The kit's own loop.
pub fn by_the_kit(batch: i32) -> String {
    format!(
        "CALL chokaq.purge_archive(
            p_older_than_utc => clock_timestamp() - interval '90 days', p_cleanup_batch_size => {batch}
        )"
    )
}
