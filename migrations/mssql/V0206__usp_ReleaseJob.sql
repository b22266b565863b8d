/*
chokaq.usp_ReleaseJob: give a fetched job back to its queue, at its old place

Twin         postgres/release_job.sql
Result       one row: Outcome, JobId
Outcomes     released | not_found | not_owner | not_fetched
Errors       59001
Transaction  joining
Locks        JobsHot
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_ReleaseJob @JobId = N'a1', @WorkerId = N'worker-1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ReleaseJob @JobId NVARCHAR(4000), @WorkerId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF chokaq.fn_IsName(@JobId, 50) = 0
        THROW 59001, N'@JobId must be 1 to 50 characters without white space at either end.', 1;

    IF chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Id NVARCHAR(50) = @JobId,
        @Outcome VARCHAR(20) = 'released',
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        UPDATE chokaq.JobsHot
        SET Status = 0, WorkerId = NULL, FetchedAtUtc = NULL, HeartbeatUtc = NULL, LastUpdatedUtc = SYSUTCDATETIME()
        WHERE Id = @Id AND WorkerId = @Owner AND Status = 1;

        IF @@ROWCOUNT = 0
            SET @Outcome = COALESCE(
                    (
                        SELECT CASE WHEN h.WorkerId <> @Owner THEN 'not_owner' ELSE 'not_fetched' END
                        FROM chokaq.JobsHot AS h
                        WHERE h.Id = @Id
                    ),
                    'not_found'
                );

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    SELECT @Outcome AS Outcome, @Id AS JobId;
END;
