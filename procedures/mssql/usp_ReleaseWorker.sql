/*
chokaq.usp_ReleaseWorker: give all fetched jobs of a dead worker back to their queues, at their old places

Twin         postgres/release_worker.sql
Result       one row: ReleasedCount, ProcessingCount (what it was running: left to usp_ArchiveZombies)
Errors       59001
Transaction  joining
Locks        JobsHot, in key order
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_ReleaseWorker @WorkerId = N'worker-1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ReleaseWorker @WorkerId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @ProcessingCount INT,
        @ReleasedCount INT;

    DECLARE @Seen TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );
    DECLARE @Held TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /*
        Only what workers hold, by the index of that, and without regard to locks: other workers' jobs are passed on
        the way. The update below decides again. DISTINCT: a read without locks can see a row twice.
        */
        INSERT INTO @Seen (Id)
        SELECT DISTINCT h.Id
        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), READUNCOMMITTED)
        WHERE h.WorkerId IS NOT NULL AND h.WorkerId = @Owner AND h.Status = 1;

        /* Locked in key order, the order of @Seen: two calls for one worker wait in one direction only. */
        INSERT INTO @Held (Id)
        SELECT h.Id
        FROM @Seen AS s
        INNER JOIN chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK, FORCESEEK) ON h.Id = s.Id
        WHERE h.WorkerId = @Owner AND h.Status = 1
        ORDER BY s.Id
        OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

        /* FORCESEEK: a scan would lock, and wait for, every row on its way. */
        UPDATE chokaq.JobsHot
        SET Status = 0, WorkerId = NULL, FetchedAtUtc = NULL, HeartbeatUtc = NULL, LastUpdatedUtc = SYSUTCDATETIME()
        FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
        WHERE JobsHot.Id IN (SELECT l.Id FROM @Held AS l) AND JobsHot.WorkerId = @Owner AND JobsHot.Status = 1;

        SET @ReleasedCount = @@ROWCOUNT;

        SELECT @ProcessingCount = COUNT(*)
        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), READUNCOMMITTED)
        WHERE h.WorkerId IS NOT NULL AND h.WorkerId = @Owner AND h.Status = 2;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    SELECT @ReleasedCount AS ReleasedCount, @ProcessingCount AS ProcessingCount;
END;
