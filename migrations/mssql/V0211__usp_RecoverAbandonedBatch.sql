/*
chokaq.usp_RecoverAbandonedBatch: give one batch of jobs that were fetched and never started back to their queues

Twin         postgres/recover_abandoned_batch.sql
Result       one row: RecoveredCount, SkippedCount (held by others), HasMore, LastQueue, LastJobId: the key to go on from
Errors       59001
Transaction  joining
Locks        JobsHot; what others hold is skipped
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_RecoverAbandonedBatch @TimeoutSeconds = 300, @BatchSize = 1000;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_RecoverAbandonedBatch
    @TimeoutSeconds INT = 300,
    @BatchSize INT = 1000, /* 1-4000 */
    @AfterQueue NVARCHAR(4000) = NULL, /* LastQueue and LastJobId of the batch before */
    @AfterJobId NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @TimeoutSeconds IS NULL OR @TimeoutSeconds < 0
        THROW 59001, N'@TimeoutSeconds must be 0 or more seconds.', 1;

    IF @BatchSize IS NULL OR @BatchSize NOT BETWEEN 1 AND 4000
        THROW 59001, N'@BatchSize must be 1 to 4000.', 1;

    IF chokaq.fn_Utf16Length(@AfterQueue) > 255
        THROW 59001, N'@AfterQueue must be NULL or at most 255 characters.', 1;

    IF chokaq.fn_Utf16Length(@AfterJobId) > 50
        THROW 59001, N'@AfterJobId must be NULL or at most 50 characters.', 1;

    DECLARE
        @AfterId NVARCHAR(50) = COALESCE(@AfterJobId, N''),
        @AfterName NVARCHAR(255) = COALESCE(@AfterQueue, N''),
        @LastJobId NVARCHAR(50),
        @LastQueue NVARCHAR(255),
        @Limit DATETIME2(7) = DATEADD(SECOND, -@TimeoutSeconds, SYSUTCDATETIME()),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @RecoveredCount INT,
        @SeenCount INT;

    DECLARE @Seen TABLE (
        Place INT IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL
    );
    DECLARE @Mine TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /*
        One row more than the batch says whether there is more. Read without regard to locks, so that what others
        hold is seen and counted: the update below decides again.
        */
        INSERT INTO @Seen (Id, Queue)
        SELECT TOP (@BatchSize + 1) h.Id, h.Queue
        FROM chokaq.JobsHot AS h WITH (READUNCOMMITTED)
        WHERE h.WorkerId IS NOT NULL
            AND h.Queue >= @AfterName
            AND (h.Queue > @AfterName OR h.Id > @AfterId)
            AND h.Status = 1
            AND h.HeartbeatUtc <= @Limit
        ORDER BY h.Queue, h.Id;

        SET @SeenCount = @@ROWCOUNT;

        SELECT TOP (1) @LastQueue = s.Queue, @LastJobId = s.Id
        FROM @Seen AS s
        WHERE s.Place <= @BatchSize
        ORDER BY s.Place DESC;

        /* DISTINCT: a read without locks can see a row twice. */
        INSERT INTO @Mine (Id)
        SELECT DISTINCT h.Id
        FROM @Seen AS s
        INNER JOIN chokaq.JobsHot AS h WITH (FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON h.Id = s.Id
        WHERE s.Place <= @BatchSize AND h.Status = 1 AND h.HeartbeatUtc <= @Limit
        OPTION (FORCE ORDER, LOOP JOIN);

        /* FORCESEEK: a scan would lock, and wait for, every row on its way. */
        UPDATE chokaq.JobsHot
        SET Status = 0, WorkerId = NULL, FetchedAtUtc = NULL, HeartbeatUtc = NULL, LastUpdatedUtc = SYSUTCDATETIME()
        FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
        WHERE JobsHot.Id IN (SELECT m.Id FROM @Mine AS m) AND JobsHot.Status = 1 AND JobsHot.HeartbeatUtc <= @Limit;

        SET @RecoveredCount = @@ROWCOUNT;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    SELECT
        @RecoveredCount AS RecoveredCount,
        (
            SELECT COUNT(*)
            FROM @Seen AS s
            INNER JOIN chokaq.JobsHot AS h WITH (READUNCOMMITTED) ON h.Id = s.Id
            WHERE s.Place <= @BatchSize AND h.Status = 1 AND h.HeartbeatUtc <= @Limit
        ) AS SkippedCount,
        CONVERT(BIT, CASE WHEN @SeenCount > @BatchSize THEN 1 ELSE 0 END) AS HasMore,
        @LastQueue AS LastQueue,
        @LastJobId AS LastJobId;
END;
