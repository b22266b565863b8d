/*
chokaq.usp_PurgeDLQByFilterBatch: delete one batch of the jobs of the DLQ that a filter leaves for good, oldest first

Twin         postgres/purge_dlq_by_filter_batch.sql
Result       one row: MatchedCount, PurgedCount, SkippedCount (held by others; with @Search those are not seen),
             HasMore, LastFailedAtUtc, LastJobId: the key to go on from
Errors       59001, 59003
Transaction  joining; a preview, which says MatchedCount only, unless @WhatIf = 0
Locks        JobsDLQ (what others hold is skipped), counters, history
Granted to   chokaq_admin
Example      EXECUTE chokaq.usp_PurgeDLQByFilterBatch @Queue = N'mail', @PurgedBy = N'ann', @WhatIf = 0;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PurgeDLQByFilterBatch
    @Queue NVARCHAR(4000) = NULL,
    @Type NVARCHAR(4000) = NULL,
    @FailureReason INT = NULL,
    @FromUtc DATETIME2(7) = NULL, /* FailedAtUtc at or after */
    @ToUtc DATETIME2(7) = NULL, /* FailedAtUtc before */
    @Search NVARCHAR(MAX) = NULL, /* a substring of id, type, tags, error or payload; no wildcards */
    @CleanupBatchSize INT = 1000, /* 1-4000 */
    @PurgedBy NVARCHAR(4000) = NULL, /* required */
    @WhatIf BIT = 1,
    @AfterFailedAtUtc DATETIME2(7) = NULL, /* LastFailedAtUtc and LastJobId of the batch before */
    @AfterJobId NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE chokaq.usp_CheckFilter
        @Queue = @Queue,
        @Type = @Type,
        @FailureReason = @FailureReason,
        @FromUtc = @FromUtc,
        @ToUtc = @ToUtc,
        @Search = @Search,
        @IsRequired = 1;

    IF @CleanupBatchSize IS NULL OR @CleanupBatchSize NOT BETWEEN 1 AND 4000
        THROW 59001, N'@CleanupBatchSize must be 1 to 4000.', 1;

    IF chokaq.fn_IsName(@PurgedBy, 100) = 0
        THROW 59001, N'@PurgedBy must be 1 to 100 characters without white space at either end.', 1;

    IF @WhatIf IS NULL
        THROW 59001, N'@WhatIf must be 0 or 1.', 1;

    IF @AfterJobId IS NOT NULL AND @AfterFailedAtUtc IS NULL
        THROW 59001, N'@AfterFailedAtUtc must be given with @AfterJobId.', 1;

    IF chokaq.fn_Utf16Length(@AfterJobId) > 50
        THROW 59001, N'@AfterJobId must be NULL or at most 50 characters.', 1;

    /* Locals of the columns' types: a wider parameter on the other side of = would keep the indexes from being sought. */
    DECLARE
        @Actor NVARCHAR(100) = @PurgedBy,
        @AfterId NVARCHAR(50) = COALESCE(@AfterJobId, N''),
        @BatchId UNIQUEIDENTIFIER = NEWID(),
        @DoneCount INT = 0,
        @LastFailedAtUtc DATETIME2(7),
        @LastJobId NVARCHAR(50),
        @MatchedCount INT,
        @MineIds NVARCHAR(MAX),
        @MineRevisions NVARCHAR(MAX),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @QueueName NVARCHAR(255) = @Queue,
        @Reason TINYINT = @FailureReason,
        @SeenCount INT,
        @SkippedCount INT = 0,
        @TypeName NVARCHAR(255) = @Type;

    DECLARE @Seen TABLE (
        Place INT IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
        FailedAtUtc DATETIME2(7) NOT NULL,
        Revision BIGINT NOT NULL
    );
    DECLARE @Mine TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Place INT NOT NULL,
        Revision BIGINT NOT NULL
    );

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /*
        One row more than the batch says whether there is more. Read without regard to locks, so that what others hold
        is seen and counted: the revision decides again. Long texts are not read so: without locks that may fail (7105).
        */
        INSERT INTO @Seen (Id, FailedAtUtc, Revision)
        SELECT TOP (@CleanupBatchSize + 1) d.Id, d.FailedAtUtc, d.Revision
        FROM chokaq.JobsDLQ AS d WITH (READUNCOMMITTED)
        WHERE (@QueueName IS NULL OR d.Queue = @QueueName)
            AND (@TypeName IS NULL OR d.Type = @TypeName)
            AND (@Reason IS NULL OR d.FailureReason = @Reason)
            AND (@FromUtc IS NULL OR d.FailedAtUtc >= @FromUtc)
            AND (@ToUtc IS NULL OR d.FailedAtUtc < @ToUtc)
            AND (@AfterFailedAtUtc IS NULL OR d.FailedAtUtc >= @AfterFailedAtUtc)
            AND (@AfterFailedAtUtc IS NULL OR d.FailedAtUtc > @AfterFailedAtUtc OR d.Id > @AfterId)
            AND (
                @Search IS NULL
                OR EXISTS (
                    SELECT 1
                    FROM chokaq.JobsDLQ AS t WITH (FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE t.Id = d.Id
                        AND (
                            CHARINDEX(@Search COLLATE Latin1_General_BIN2, t.Id) > 0
                            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, t.Type) > 0
                            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, t.Tags) > 0
                            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, t.ErrorDetails) > 0
                            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, t.Payload) > 0
                        )
                )
            )
        ORDER BY d.FailedAtUtc, d.Id
        /* A plan for the filters that are given: each has its own index. */
        OPTION (RECOMPILE);

        SET @SeenCount = @@ROWCOUNT;
        SET @MatchedCount = CASE WHEN @SeenCount > @CleanupBatchSize THEN @CleanupBatchSize ELSE @SeenCount END;

        SELECT @LastFailedAtUtc = s.FailedAtUtc, @LastJobId = s.Id FROM @Seen AS s WHERE s.Place = @MatchedCount;

        IF @WhatIf = 0 AND @MatchedCount > 0
        BEGIN
            /*
            The revision says that the row is still what the filter saw: nobody edited it, or ran it and failed, since.
            GROUP BY: a read without locks can see a row twice.
            */
            INSERT INTO @Mine (Id, Place, Revision)
            SELECT d.Id, MIN(s.Place), d.Revision
            FROM @Seen AS s
            INNER JOIN chokaq.JobsDLQ AS d WITH (FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
                ON d.Id = s.Id AND d.Revision = s.Revision
            WHERE s.Place <= @CleanupBatchSize
            GROUP BY d.Id, d.Revision
            OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

            SELECT
                @MineIds = COALESCE(
                    N'[' +
                    STRING_AGG(CONVERT(NVARCHAR(MAX), chokaq.fn_JsonString(m.Id)), N',') WITHIN GROUP (
                        ORDER BY m.Place
                    ) +
                    N']',
                    N'[]'
                ),
                @MineRevisions = COALESCE(
                    N'[' + STRING_AGG(CONVERT(NVARCHAR(MAX), m.Revision), N',') WITHIN GROUP (ORDER BY m.Place) + N']',
                    N'[]'
                )
            FROM @Mine AS m;

            EXECUTE chokaq.usp_PurgeRows
                @JobIds = @MineIds,
                @Revisions = @MineRevisions,
                @Actor = @Actor,
                @BatchId = @BatchId;

            /* Only rows of this transaction can be meant: never wait for those of another. */
            SELECT @DoneCount = COUNT(*)
            FROM @Mine AS m
            INNER JOIN chokaq.OperatorHistory AS o WITH (FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON o.JobId = m.Id
            WHERE o.BatchId = @BatchId
            OPTION (FORCE ORDER, LOOP JOIN);

            SELECT @SkippedCount = COUNT(DISTINCT s.Id)
            FROM @Seen AS s
            INNER JOIN chokaq.JobsDLQ AS d WITH (FORCESEEK, READUNCOMMITTED) ON d.Id = s.Id AND d.Revision = s.Revision
            WHERE s.Place <= @CleanupBatchSize;
        END;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    EXECUTE chokaq.usp_FoldSometimes;

    SELECT
        @MatchedCount AS MatchedCount,
        @DoneCount AS PurgedCount,
        @SkippedCount AS SkippedCount,
        CONVERT(BIT, CASE WHEN @SeenCount > @CleanupBatchSize THEN 1 ELSE 0 END) AS HasMore,
        @LastFailedAtUtc AS LastFailedAtUtc,
        @LastJobId AS LastJobId;
END;
