/*
chokaq.usp_KeepAlive: renew the heartbeat of the jobs that a worker holds

Twin         postgres/keep_alive.sql
Result       one row per id, in order: JobId, Outcome
Outcomes     alive | lost (no longer this worker's: stop working on it)
Errors       59001, 59004
Transaction  joining
Locks        JobsHot, in key order
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_KeepAlive @JobIds = N'["a1", "a2"]', @WorkerId = N'worker-1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_KeepAlive
    @JobIds NVARCHAR(MAX), /* JSON array, at most 4000 */
    @WorkerId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE chokaq.usp_CheckJobIds @JobIds = @JobIds, @Max = 4000;

    IF chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Now DATETIME2(7) = SYSUTCDATETIME(),
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Ordinal INT NOT NULL
    );
    DECLARE @Alive TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );

    INSERT INTO @Asked (Id, Ordinal)
    SELECT t.Value, t.Ordinal FROM chokaq.fn_JsonTexts(@JobIds) AS t;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* FORCESEEK: a scan would lock, and wait for, every row on its way. */
        UPDATE chokaq.JobsHot
        SET HeartbeatUtc = @Now, LastUpdatedUtc = @Now
        OUTPUT inserted.Id INTO @Alive (Id)
        FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
        WHERE JobsHot.Id IN (SELECT i.Id FROM @Asked AS i) AND JobsHot.WorkerId = @Owner;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    SELECT i.Id AS JobId, CASE WHEN a.Id IS NULL THEN 'lost' ELSE 'alive' END AS Outcome
    FROM @Asked AS i
    LEFT JOIN @Alive AS a ON a.Id = i.Id
    ORDER BY i.Ordinal;
END;
