/*
The timetable of the kit for the SQL Server Agent. Run it in the kit's database, as one batch (there is no GO in it),
as a login that may make Agent jobs. Safe to run again: a job of this name is deleted first and made anew.

NOT RUN YET: no server with an Agent was at hand. It parses for SQL Server 2017 and 2022, and the suite runs what the
steps execute. Azure SQL Database and Express have no Agent: there run the same statements from elastic jobs or
another timer.

The steps run as the owner of the job, the login that runs this; a sysadmin's run as the Agent's own account. Another
owner needs chokaq_worker (sweeps, fold) and chokaq_admin (purges). The Agent connects with QUOTED_IDENTIFIER OFF: the
procedures keep their own setting, and the steps turn it on for what you may add. Times are the server's local time.
*/
SET NOCOUNT, XACT_ABORT ON;

DECLARE
    @AddJobs BIT = 1, /* 0: only deletes them */
    @Command NVARCHAR(MAX),
    @Database SYSNAME = DB_NAME(),
    @Description NVARCHAR(512),
    @Frequency INT,
    @Interval INT,
    @JobName SYSNAME,
    @Minutes INT,
    @Ordinal INT = 1,
    @ScheduleId INT,
    @StartTime INT,
    @Unit INT;

DECLARE @Jobs TABLE (
    Ordinal INT NOT NULL PRIMARY KEY,
    Name SYSNAME NOT NULL,
    Description NVARCHAR(512) NOT NULL,
    Command NVARCHAR(MAX) NOT NULL,
    Frequency INT NOT NULL, /* 4: daily, 8: weekly */
    Interval INT NOT NULL, /* daily: every so many days; weekly: 1 is Sunday */
    Minutes INT NOT NULL, /* every so many minutes of the day; 0: once, at StartTime */
    StartTime INT NOT NULL /* HHMMSS */
);

INSERT INTO @Jobs (Ordinal, Name, Description, Command, Frequency, Interval, Minutes, StartTime)
VALUES
    (
        1,
        N'recover abandoned',
        N'Jobs that were fetched and never started go back to their queues.',
        N'EXECUTE chokaq.usp_RecoverAbandoned;',
        4,
        1,
        1,
        0
    ),
    (
        2,
        N'archive zombies',
        N'Running jobs whose worker no longer says that it lives go to the DLQ.',
        N'EXECUTE chokaq.usp_ArchiveZombies;',
        4,
        1,
        1,
        0
    ),
    (
        3,
        N'fold',
        N'The workers do this too, now and then; with it the counters are quick to read after a quiet hour.',
        N'EXECUTE chokaq.usp_FoldCounters;',
        4,
        1,
        1,
        0
    ),
    (
        4,
        N'purge archive',
        N'What succeeded stays for 90 days.',
        N'DECLARE @Before DATETIME2(7) = DATEADD(DAY, -90, SYSUTCDATETIME());
EXECUTE chokaq.usp_PurgeArchive @OlderThanUtc = @Before, @PurgedBy = N''agent'';',
        4,
        1,
        0,
        023000
    ),
    (
        5,
        N'purge history',
        N'What operators did stays for a year.',
        N'DECLARE @Before DATETIME2(7) = DATEADD(YEAR, -1, SYSUTCDATETIME());
EXECUTE chokaq.usp_PurgeHistory @OlderThanUtc = @Before, @PurgedBy = N''agent'';',
        8,
        1,
        0,
        033000
    );

BEGIN TRY
    BEGIN TRANSACTION;

    WHILE EXISTS (SELECT 1 FROM @Jobs AS j WHERE j.Ordinal = @Ordinal)
    BEGIN
        SELECT
            @JobName = N'ChokaQ ' + @Database + N': ' + j.Name,
            @Description = j.Description,
            @Command = N'SET QUOTED_IDENTIFIER ON;' + NCHAR(13) + NCHAR(10) + j.Command,
            @Frequency = j.Frequency,
            @Interval = j.Interval,
            @Minutes = j.Minutes,
            @Unit = CASE WHEN j.Minutes = 0 THEN 1 ELSE 4 END, /* 1: at the start time, 4: minutes */
            @StartTime = j.StartTime
        FROM @Jobs AS j
        WHERE j.Ordinal = @Ordinal;

        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @JobName)
            EXECUTE msdb.dbo.sp_delete_job @job_name = @JobName, @delete_unused_schedule = 1;

        IF @AddJobs = 1
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @JobName, @description = @Description;
            /* A deadlock or a lost connection: twice again, a minute later each. A loop goes on where it stopped. */
            EXECUTE msdb.dbo.sp_add_jobstep
                @job_name = @JobName,
                @step_name = N'execute',
                @subsystem = N'TSQL',
                @database_name = @Database,
                @command = @Command,
                @retry_attempts = 2,
                @retry_interval = 1;
            EXECUTE msdb.dbo.sp_add_schedule
                @schedule_name = @JobName,
                @freq_type = @Frequency,
                @freq_interval = @Interval,
                @freq_subday_type = @Unit,
                @freq_subday_interval = @Minutes,
                @freq_recurrence_factor = 1,
                @active_start_time = @StartTime,
                @schedule_id = @ScheduleId OUTPUT;
            EXECUTE msdb.dbo.sp_attach_schedule @job_name = @JobName, @schedule_id = @ScheduleId;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @JobName;
        END;

        SET @Ordinal = @Ordinal + 1;
    END;

    COMMIT TRANSACTION;
END TRY
BEGIN CATCH
    IF XACT_STATE() <> 0
        ROLLBACK TRANSACTION;

    THROW;
END CATCH;
