/*
chokaq.usp_ResurrectByFilter: put the jobs that a filter leaves back into their queues, oldest first, batch by batch

Twin         postgres/resurrect_by_filter.sql
Result       one row: MatchedCount (at most @MaxJobs), ResurrectedCount, ConflictCount (the id is in Hot as well), BatchCount,
             SkippedCount (still held by others after three passes), HasMore (@MaxJobs ended it)
Errors       59001, 59003, 59010
Transaction  looping: each batch of usp_ResurrectByFilterBatch is a transaction of its own; a preview unless @WhatIf = 0
Locks        JobsDLQ, JobsHot, counters, history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_ResurrectByFilter @Queue = N'mail', @ResurrectedBy = N'ann', @WhatIf = 0;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ResurrectByFilter
    @Queue NVARCHAR(4000) = NULL,
    @Type NVARCHAR(4000) = NULL,
    @FailureReason INT = NULL,
    @FromUtc DATETIME2(7) = NULL, /* FailedAtUtc at or after */
    @ToUtc DATETIME2(7) = NULL, /* FailedAtUtc before */
    @Search NVARCHAR(MAX) = NULL, /* a substring of id, type, tags, error or payload; no wildcards */
    @MaxJobs INT = 1000, /* 1 or more */
    @ResurrectedBy NVARCHAR(4000) = NULL, /* required */
    @WhatIf BIT = 1,
    @BatchSize INT = 1000 /* 1-4000 */
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    SET IMPLICIT_TRANSACTIONS OFF;

    IF @@TRANCOUNT > 0
        THROW 59010, N'chokaq.usp_ResurrectByFilter commits batch by batch and cannot run inside a transaction.', 1;

    IF @MaxJobs IS NULL OR @MaxJobs < 1
        THROW 59001, N'@MaxJobs must be 1 or more.', 1;

    IF @BatchSize IS NULL OR @BatchSize NOT BETWEEN 1 AND 4000
        THROW 59001, N'@BatchSize must be 1 to 4000.', 1;

    DECLARE
        @AfterFailedAtUtc DATETIME2(7),
        @AfterJobId NVARCHAR(50),
        @BatchCount INT = 0,
        @ConflictCount INT = 0,
        @HasMore BIT = 0,
        @Left INT,
        @MatchedCount INT = 0,
        @Now DATETIME2(7) = DATEADD(NANOSECOND, 100, SYSUTCDATETIME()),
        @Pass INT = 1,
        @ResurrectedCount INT = 0,
        @Size INT,
        @SkippedCount INT = 0,
        @Until DATETIME2(7) = @ToUtc;

    DECLARE @Batch TABLE (
        MatchedCount INT NOT NULL,
        ResurrectedCount INT NOT NULL,
        ConflictCount INT NOT NULL,
        SkippedCount INT NOT NULL,
        HasMore BIT NOT NULL,
        LastFailedAtUtc DATETIME2(7) NULL,
        LastJobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NULL
    );

    /* A job that comes back and fails again at once must not be taken a second time. An empty filter stays empty. */
    IF @WhatIf = 0
       AND (
           COALESCE(@Queue, @Type, @Search) IS NOT NULL
           OR @FailureReason IS NOT NULL
           OR COALESCE(@FromUtc, @ToUtc) IS NOT NULL
       )
       AND (@ToUtc IS NULL OR @ToUtc > @Now)
        SET @Until = @Now;

    WHILE @Pass = 1 OR (@Pass <= 3 AND @SkippedCount > 0 AND @HasMore = 0)
    BEGIN
        SELECT
            @Pass = @Pass + 1,
            @AfterFailedAtUtc = NULL,
            @AfterJobId = NULL,
            @HasMore = 1,
            @Left = @MaxJobs - @ResurrectedCount,
            @MatchedCount = 0,
            @ConflictCount = 0,
            @SkippedCount = 0;

        WHILE @HasMore = 1 AND @Left > 0
        BEGIN
            SET @Size = CASE WHEN @Left < @BatchSize THEN @Left ELSE @BatchSize END;
            DELETE FROM @Batch;

            /* The statement is the batch's transaction: the partner joins it, and it commits when the statement ends. */
            INSERT INTO @Batch (
                MatchedCount,
                ResurrectedCount,
                ConflictCount,
                SkippedCount,
                HasMore,
                LastFailedAtUtc,
                LastJobId
            )
            EXECUTE chokaq.usp_ResurrectByFilterBatch
                @Queue = @Queue,
                @Type = @Type,
                @FailureReason = @FailureReason,
                @FromUtc = @FromUtc,
                @ToUtc = @Until,
                @Search = @Search,
                @BatchSize = @Size,
                @ResurrectedBy = @ResurrectedBy,
                @WhatIf = @WhatIf,
                @AfterFailedAtUtc = @AfterFailedAtUtc,
                @AfterJobId = @AfterJobId;

            SELECT
                @MatchedCount = @MatchedCount + b.MatchedCount,
                @ResurrectedCount = @ResurrectedCount + b.ResurrectedCount,
                @ConflictCount = @ConflictCount + b.ConflictCount,
                @SkippedCount = @SkippedCount + b.SkippedCount,
                @BatchCount = @BatchCount + CASE WHEN b.ResurrectedCount > 0 THEN 1 ELSE 0 END,
                @Left = @Left - b.MatchedCount,
                @HasMore = b.HasMore,
                @AfterFailedAtUtc = b.LastFailedAtUtc,
                @AfterJobId = b.LastJobId
            FROM @Batch AS b;

            EXECUTE chokaq.usp_FoldSometimes;
        END;
    END;

    IF @WhatIf = 0
        SET @MatchedCount = @ResurrectedCount + @ConflictCount + @SkippedCount;

    SELECT
        @MatchedCount AS MatchedCount,
        @ResurrectedCount AS ResurrectedCount,
        @ConflictCount AS ConflictCount,
        @BatchCount AS BatchCount,
        @SkippedCount AS SkippedCount,
        @HasMore AS HasMore;
END;
