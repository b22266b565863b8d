/*
chokaq.usp_PromoteJobs: mark jobs that have become due, so that a fetch finds them in the order of the claim

Twin         postgres/promote_jobs.sql
Transaction  the caller's, under READ COMMITTED; returns no rows
Locks        JobsHot; what others hold is skipped
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PromoteJobs
    @Queues NVARCHAR(MAX), /* JSON array; NULL: all */
    @BatchSize INT,
    @IsAlone BIT /* 1: the transaction ends with the fetch */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE @Now DATETIME2(7) = SYSUTCDATETIME(), @Promote INT = @BatchSize, @PromotePerQueue INT = @BatchSize;

    DECLARE @Chosen TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );

    IF @IsAlone = 1
        SELECT
            @Promote = CASE WHEN 4 * @BatchSize > 1000 THEN 4 * @BatchSize ELSE 1000 END,
            @PromotePerQueue = CASE WHEN 2 * @BatchSize > 50 THEN 2 * @BatchSize ELSE 50 END;

    /*
    More per queue than one fetch can take, so that due jobs never pile up unseen; in random order, so that no
    queue waits for another. Inside a caller's transaction only as many as it may take: they stay locked until it
    ends. Status is in no index: to read it, the row itself is locked too, and not only its key in the index, or an
    edit that comes through the primary key could meet this claim in a deadlock.
    */
    INSERT INTO @Chosen (Id)
    SELECT TOP (@Promote) d.Id
    FROM (
        SELECT TOP (100000) q.Queue
        FROM chokaq.Queues AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE q.IsPaused = 0
            AND q.IsActive = 1
            AND (@Queues IS NULL OR q.Queue IN (SELECT t.Value FROM chokaq.fn_JsonTexts(@Queues) AS t))
            /* A full queue would only use up what may be let in. */
            AND (
                q.MaxWorkers IS NULL
                OR q.MaxWorkers > (
                    SELECT COUNT(*)
                    FROM chokaq.JobsHot AS w WITH (INDEX(IX_JobsHot_Queue_Id), FORCESEEK, READUNCOMMITTED)
                    WHERE w.Queue = q.Queue AND w.WorkerId IS NOT NULL
                )
            )
        ORDER BY NEWID()
    ) AS o
    CROSS APPLY (
        SELECT TOP (@PromotePerQueue) h.Id
        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_DueAtUtc), FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
        WHERE h.Queue = o.Queue AND h.WorkerId IS NULL AND h.IsDue = 0 AND h.DueAtUtc <= @Now AND h.Status = 0
        ORDER BY h.DueAtUtc
    ) AS d;

    IF @@ROWCOUNT > 0
        UPDATE chokaq.JobsHot
        SET IsDue = 1
        /* By the id: a range of times would lock, and wait for, every row on its way. */
        FROM chokaq.JobsHot WITH (INDEX(PK_JobsHot), FORCESEEK, ROWLOCK)
        WHERE JobsHot.Id IN (SELECT c.Id FROM @Chosen AS c)
            AND JobsHot.WorkerId IS NULL
            AND JobsHot.IsDue = 0
            AND JobsHot.DueAtUtc <= @Now;
END;
