/*
The timetable of the kit for pg_cron 1.4 or later. Run it as a superuser in the database that has pg_cron
(cron.database_name), after writing the kit's database, and the role that the commands are to run as, for shop and
current_user below. That role must be a member of chokaq_worker (sweeps, fold) and chokaq_admin (purges), and pg_cron
must be able to connect as it. Safe to run again: a job of this name and role is replaced.

A CALL of a looping procedure must be a command of its own: it commits, so with a second statement beside it, or
inside a function, it is refused (2D000). Times are GMT, unless cron.timezone says otherwise. What ran and how it
ended is in cron.job_run_details, which nobody trims but you. To take a job away:
SELECT cron.unschedule('chokaq shop: fold').
*/
SELECT
    j.name,
    cron.schedule_in_database(
        format('chokaq %s: %s', d.name, j.name), j.schedule, j.command, d.name, d.username
    ) AS job_id
FROM (VALUES ('shop', current_user::text)) AS d (name, username)
CROSS JOIN (
    VALUES
        /* Jobs that were fetched and never started go back to their queues. */
        ('recover abandoned', '* * * * *', 'CALL chokaq.recover_abandoned()'),
        /* Running jobs whose worker no longer says that it lives go to the DLQ. */
        ('archive zombies', '* * * * *', 'CALL chokaq.archive_zombies()'),
        /* The workers do this too, now and then; with it the counters are quick to read after a quiet hour. */
        ('fold', '* * * * *', 'SELECT chokaq.fold_counters()'),
        /* What succeeded stays for 90 days. */
        (
            'purge archive',
            '30 2 * * *',
            'CALL chokaq.purge_archive(clock_timestamp() - interval ''90 days'', p_purged_by => ''pg_cron'')'
        ),
        /* What operators did stays for a year. */
        (
            'purge history',
            '30 3 * * 0',
            'CALL chokaq.purge_history(clock_timestamp() - interval ''1 year'', p_purged_by => ''pg_cron'')'
        )
) AS j (name, schedule, command);
