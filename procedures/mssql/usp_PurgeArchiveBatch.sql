/*
chokaq.usp_PurgeArchiveBatch: delete one batch of jobs that finished strictly before an instant from the Archive

Twin         postgres/purge_archive_batch.sql
Result       one row: DeletedCount, SkippedCount (held by others), HasMore, LastFinishedAtUtc, LastJobId: the key to go
             on from, so that no batch walks over the rows that the one before deleted
Errors       59001
Transaction  joining
Locks        JobsArchive (what others hold is skipped), history
Granted to   chokaq_admin
Example      EXECUTE chokaq.usp_PurgeArchiveBatch @OlderThanUtc = '2026-01-31T00:00:00';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PurgeArchiveBatch
    @OlderThanUtc DATETIME2(7),
    @CleanupBatchSize INT = 1000, /* 1-4000 */
    @PurgedBy NVARCHAR(4000) = NULL,
    @AfterFinishedAtUtc DATETIME2(7) = NULL, /* LastFinishedAtUtc and LastJobId of the batch before */
    @AfterJobId NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @OlderThanUtc IS NULL
        THROW 59001, N'@OlderThanUtc must be a time.', 1;

    IF @CleanupBatchSize IS NULL OR @CleanupBatchSize NOT BETWEEN 1 AND 4000
        THROW 59001, N'@CleanupBatchSize must be 1 to 4000.', 1;

    IF @PurgedBy IS NOT NULL AND chokaq.fn_IsName(@PurgedBy, 100) = 0
        THROW 59001, N'@PurgedBy must be NULL or 1 to 100 characters without white space at either end.', 1;

    IF chokaq.fn_Utf16Length(@AfterJobId) > 50
        THROW 59001, N'@AfterJobId must be NULL or at most 50 characters.', 1;

    DECLARE
        @Actor NVARCHAR(100) = @PurgedBy,
        @AfterId NVARCHAR(50) = COALESCE(@AfterJobId, N''),
        @AfterTime DATETIME2(7) = COALESCE(@AfterFinishedAtUtc, '00010101'),
        @DeletedCount INT,
        @LastFinishedAtUtc DATETIME2(7),
        @LastJobId NVARCHAR(50),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @SeenCount INT;

    DECLARE @Seen TABLE (
        Place INT IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
        FinishedAtUtc DATETIME2(7) NOT NULL
    );
    DECLARE @Mine TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /*
        One row more than the batch says whether there is more. Read without regard to locks, so that what others
        hold is seen and counted: the delete below decides again. FinishedAtUtc >= @AfterTime is the seek, the rest
        of the condition the key.
        */
        INSERT INTO @Seen (Id, FinishedAtUtc)
        SELECT TOP (@CleanupBatchSize + 1) a.Id, a.FinishedAtUtc
        FROM chokaq.JobsArchive AS a WITH (READUNCOMMITTED)
        WHERE a.FinishedAtUtc < @OlderThanUtc
            AND a.FinishedAtUtc >= @AfterTime
            AND (a.FinishedAtUtc > @AfterTime OR a.Id > @AfterId)
        ORDER BY a.FinishedAtUtc, a.Id;

        SET @SeenCount = @@ROWCOUNT;

        SELECT TOP (1) @LastFinishedAtUtc = s.FinishedAtUtc, @LastJobId = s.Id
        FROM @Seen AS s
        WHERE s.Place <= @CleanupBatchSize
        ORDER BY s.Place DESC;

        /* DISTINCT: a read without locks can see a row twice. The index, because a lock on the key in another holds no row. */
        INSERT INTO @Mine (Id)
        SELECT DISTINCT a.Id
        FROM @Seen AS s
        INNER JOIN chokaq.JobsArchive AS a WITH (INDEX(PK_JobsArchive), FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
            ON a.Id = s.Id
        WHERE s.Place <= @CleanupBatchSize AND a.FinishedAtUtc < @OlderThanUtc
        OPTION (FORCE ORDER, LOOP JOIN);

        /* FORCESEEK, by the id: a scan, or a range of times, would lock, and wait for, every row on its way. */
        DELETE chokaq.JobsArchive
        FROM chokaq.JobsArchive WITH (INDEX(PK_JobsArchive), FORCESEEK, ROWLOCK)
        WHERE JobsArchive.Id IN (SELECT m.Id FROM @Mine AS m) AND JobsArchive.FinishedAtUtc < @OlderThanUtc;

        SET @DeletedCount = @@ROWCOUNT;

        IF @DeletedCount > 0
            INSERT INTO chokaq.OperatorHistory (Action, Actor, JobCount)
            VALUES (N'archive_purged', @Actor, @DeletedCount);

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
        @DeletedCount AS DeletedCount,
        (
            SELECT COUNT(*)
            FROM @Seen AS s
            INNER JOIN chokaq.JobsArchive AS a WITH (READUNCOMMITTED) ON a.Id = s.Id
            WHERE s.Place <= @CleanupBatchSize
        ) AS SkippedCount,
        CONVERT(BIT, CASE WHEN @SeenCount > @CleanupBatchSize THEN 1 ELSE 0 END) AS HasMore,
        @LastFinishedAtUtc AS LastFinishedAtUtc,
        @LastJobId AS LastJobId;
END;
