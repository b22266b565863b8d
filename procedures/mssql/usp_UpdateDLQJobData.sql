/*
chokaq.usp_UpdateDLQJobData: change payload or tags of a job in the DLQ, where it stays

Twin         postgres/update_dlq_job_data.sql
Result       one row: Outcome, Revision
Outcomes     updated | not_found | changed (it is no longer at @ExpectedRevision)
Errors       59001, 59004
Transaction  joining
Locks        JobsDLQ, history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_UpdateDLQJobData @JobId = N'a1', @Tags = N'reviewed', @ModifiedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_UpdateDLQJobData
    @JobId NVARCHAR(4000),
    @Payload NVARCHAR(MAX) = NULL, /* NULL keeps */
    @Tags NVARCHAR(4000) = NULL, /* NULL keeps */
    @ModifiedBy NVARCHAR(4000) = NULL, /* required */
    @ClearPayload BIT = 0,
    @ClearTags BIT = 0,
    @AllowInvalidJson BIT = 0,
    @ExpectedRevision BIGINT = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE chokaq.usp_CheckEdit
        @JobId = @JobId,
        @Payload = @Payload,
        @Tags = @Tags,
        @ModifiedBy = @ModifiedBy,
        @ClearPayload = @ClearPayload,
        @ClearTags = @ClearTags,
        @AllowInvalidJson = @AllowInvalidJson,
        @HasMore = 0;

    DECLARE
        @Actor NVARCHAR(100) = @ModifiedBy,
        @Id NVARCHAR(50) = @JobId,
        @OldPayload NVARCHAR(MAX),
        @OldRevision BIGINT,
        @OldTags NVARCHAR(1000),
        @Outcome VARCHAR(20),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Queue NVARCHAR(255),
        @Revision BIGINT;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Once, unless a server that ignores UPDLOCK let a rival change the row in between. */
        WHILE @Outcome IS NULL
        BEGIN
            SET @Queue = NULL;

            SELECT @Queue = d.Queue, @OldPayload = d.Payload, @OldTags = d.Tags, @OldRevision = d.Revision
            FROM chokaq.JobsDLQ AS d WITH (UPDLOCK, ROWLOCK)
            WHERE d.Id = @Id;

            SET @Outcome = CASE
                    WHEN @Queue IS NULL THEN 'not_found'
                    WHEN @OldRevision <> @ExpectedRevision THEN 'changed'
                END;

            IF @Outcome IS NULL
            BEGIN
                SET @Revision = NEXT VALUE FOR chokaq.JobNumbers;

                UPDATE chokaq.JobsDLQ
                SET
                    Payload = CASE WHEN @ClearPayload = 0 THEN COALESCE(@Payload, Payload) END,
                    Tags = CASE WHEN @ClearTags = 0 THEN COALESCE(@Tags, Tags) END,
                    Revision = @Revision,
                    LastUpdatedUtc = SYSUTCDATETIME(),
                    LastModifiedBy = @Actor
                WHERE Id = @Id AND Revision = @OldRevision;

                IF @@ROWCOUNT = 1
                    SET @Outcome = 'updated';
            END;
            ELSE
                SET @Revision = CASE WHEN @Outcome <> 'not_found' THEN @OldRevision END;
        END;

        IF @Outcome = 'updated'
            INSERT INTO chokaq.OperatorHistory (
                Action,
                JobId,
                Queue,
                Type,
                Actor,
                FailureReason,
                ErrorDetails,
                AttemptCount,
                FailedAtUtc,
                OldPayload,
                OldTags
            )
            SELECT
                N'edited',
                d.Id,
                d.Queue,
                d.Type,
                @Actor,
                d.FailureReason,
                d.ErrorDetails,
                d.AttemptCount,
                d.FailedAtUtc,
                /* DATALENGTH too: a trailing space is a change, though = does not see it. */
                CASE
                    WHEN @ClearPayload = 1
                    OR @Payload <> @OldPayload COLLATE Latin1_General_BIN2
                    OR DATALENGTH(@Payload) <> DATALENGTH(@OldPayload) THEN @OldPayload
                END,
                CASE
                    WHEN @ClearTags = 1
                    OR @Tags <> @OldTags COLLATE Latin1_General_BIN2
                    OR DATALENGTH(@Tags) <> DATALENGTH(@OldTags) THEN @OldTags
                END
            FROM chokaq.JobsDLQ AS d
            WHERE d.Id = @Id;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    SELECT @Outcome AS Outcome, @Revision AS Revision;
END;
