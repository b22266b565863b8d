/*
Who may do what: four roles, EXECUTE object by object, no right on any table.
Safe to run again; it leaves exactly these rights to the four roles. Give them to your users by
GRANT chokaq_worker TO my_application; roles belong to the whole server, their rights to this database.

chokaq_reader    reads jobs, the DLQ, the history, queues and health
chokaq_worker    enqueues, fetches, finishes and sweeps
chokaq_operator  a reader who may also edit, resurrect and cancel jobs and set queues
chokaq_admin     an operator who may also purge
*/
DO $$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['chokaq_reader', 'chokaq_worker', 'chokaq_operator', 'chokaq_admin'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = v_role) THEN
            BEGIN
                EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION
                /* Another database of this server was given the kit at the same moment. */
                WHEN duplicate_object OR unique_violation THEN NULL;
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                        MESSAGE = pg_catalog.format('Role %s is not there, and %s may not create it.', v_role, current_user),
                        HINT = 'Let a role with CREATEROLE run this, or create chokaq_reader, chokaq_worker, '
                            'chokaq_operator and chokaq_admin first and grant each to the next but chokaq_worker.';
            END;
        END IF;
    END LOOP;

    BEGIN
        IF NOT pg_catalog.pg_has_role('chokaq_operator', 'chokaq_reader', 'MEMBER') THEN
            GRANT chokaq_reader TO chokaq_operator;
        END IF;

        IF NOT pg_catalog.pg_has_role('chokaq_admin', 'chokaq_operator', 'MEMBER') THEN
            GRANT chokaq_operator TO chokaq_admin;
        END IF;
    EXCEPTION
        WHEN unique_violation THEN NULL;
    END;
END;
$$;

REVOKE ALL ON ALL TABLES IN SCHEMA chokaq FROM PUBLIC, chokaq_reader, chokaq_worker, chokaq_operator, chokaq_admin;

REVOKE ALL ON ALL SEQUENCES IN SCHEMA chokaq FROM PUBLIC, chokaq_reader, chokaq_worker, chokaq_operator, chokaq_admin;

REVOKE ALL ON ALL ROUTINES IN SCHEMA chokaq FROM PUBLIC, chokaq_reader, chokaq_worker, chokaq_operator, chokaq_admin;

REVOKE ALL ON SCHEMA chokaq FROM PUBLIC;

GRANT USAGE ON SCHEMA chokaq TO chokaq_reader, chokaq_worker, chokaq_operator, chokaq_admin;

GRANT EXECUTE ON ROUTINE chokaq.list_dlq TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_dlq_job TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_job TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_job_history TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.summarize_dlq TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_queues TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_queue_stats TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_summary_stats TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_health TO chokaq_reader;
GRANT EXECUTE ON ROUTINE chokaq.get_version TO chokaq_reader;

GRANT EXECUTE ON ROUTINE chokaq.enqueue TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.enqueue_many TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.fetch_next_batch TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.mark_as_processing TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.mark_jobs_as_processing TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.keep_alive TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.release_job TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.release_worker TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.archive_succeeded TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.archive_succeeded_jobs TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.reschedule_for_retry TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.move_to_dlq TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.fail_job TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.recover_abandoned_batch TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.recover_abandoned TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.archive_zombies_batch TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.archive_zombies TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.fold_counters TO chokaq_worker;
GRANT EXECUTE ON ROUTINE chokaq.get_version TO chokaq_worker;

GRANT EXECUTE ON ROUTINE chokaq.update_job_data TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.update_dlq_job_data TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.resurrect TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.resurrect_jobs TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.resurrect_batch TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.resurrect_by_filter_batch TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.resurrect_by_filter TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.cancel_jobs TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.archive_cancelled_batch TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.set_queue_paused TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.set_queue_active TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.set_queue_max_workers TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.set_queue_zombie_timeout TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.set_queue_retry_policy TO chokaq_operator;

GRANT EXECUTE ON ROUTINE chokaq.purge_dlq_jobs TO chokaq_admin;
GRANT EXECUTE ON ROUTINE chokaq.purge_dlq TO chokaq_admin;
GRANT EXECUTE ON ROUTINE chokaq.purge_dlq_by_filter_batch TO chokaq_admin;
GRANT EXECUTE ON ROUTINE chokaq.purge_dlq_by_filter TO chokaq_admin;
GRANT EXECUTE ON ROUTINE chokaq.purge_archive_batch TO chokaq_admin;
GRANT EXECUTE ON ROUTINE chokaq.purge_archive TO chokaq_admin;
GRANT EXECUTE ON ROUTINE chokaq.purge_history_batch TO chokaq_admin;
GRANT EXECUTE ON ROUTINE chokaq.purge_history TO chokaq_admin;

/* A looping procedure runs with the rights of its caller, because it commits; these are called beside its partner. */
GRANT EXECUTE ON ROUTINE chokaq.checked_ids TO chokaq_operator;
GRANT EXECUTE ON ROUTINE chokaq.is_busy TO chokaq_admin;
