/*
chokaq.usp_UpdateJobData: change payload, tags or priority of a job that no worker has fetched

Twin         postgres/update_job_data.sql
Result       one row: Outcome, Revision
Outcomes     updated | not_found | not_pending | changed (it is no longer at @ExpectedRevision)
Errors       59001, 59004
Transaction  joining
Locks        JobsHot, history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_UpdateJobData @JobId = N'a1', @Priority = 30, @ModifiedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_UpdateJobData
    @JobId NVARCHAR(4000),
    @Payload NVARCHAR(MAX) = NULL, /* NULL keeps */
    @Tags NVARCHAR(4000) = NULL, /* NULL keeps */
    @ModifiedBy NVARCHAR(4000) = NULL, /* required */
    @ClearPayload BIT = 0,
    @ClearTags BIT = 0,
    @AllowInvalidJson BIT = 0,
    @ExpectedRevision BIGINT = NULL,
    @Priority INT = NULL /* NULL keeps */
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @HasMore BIT = CASE WHEN @Priority IS NULL THEN 0 ELSE 1 END;

    EXECUTE chokaq.usp_CheckEdit
        @JobId = @JobId,
        @Payload = @Payload,
        @Tags = @Tags,
        @ModifiedBy = @ModifiedBy,
        @ClearPayload = @ClearPayload,
        @ClearTags = @ClearTags,
        @AllowInvalidJson = @AllowInvalidJson,
        @HasMore = @HasMore;

    DECLARE
        @Actor NVARCHAR(100) = @ModifiedBy,
        @Id NVARCHAR(50) = @JobId,
        @OldPayload NVARCHAR(MAX),
        @OldPriority INT,
        @OldRevision BIGINT,
        @OldTags NVARCHAR(1000),
        @Outcome VARCHAR(20),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Queue NVARCHAR(255),
        @Revision BIGINT,
        @Status TINYINT,
        @Type NVARCHAR(255);

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Once, unless a server that ignores UPDLOCK let a rival change the row in between. */
        WHILE @Outcome IS NULL
        BEGIN
            SET @Queue = NULL;

            SELECT
                @Queue = h.Queue,
                @Type = h.Type,
                @OldPayload = h.Payload,
                @OldTags = h.Tags,
                @OldPriority = h.Priority,
                @Status = h.Status,
                @OldRevision = h.Revision
            FROM chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK)
            WHERE h.Id = @Id;

            SET @Outcome = CASE
                    WHEN @Queue IS NULL THEN 'not_found'
                    WHEN @Status <> 0 THEN 'not_pending'
                    WHEN @OldRevision <> @ExpectedRevision THEN 'changed'
                END;

            IF @Outcome IS NULL
            BEGIN
                SET @Revision = NEXT VALUE FOR chokaq.JobNumbers;

                UPDATE chokaq.JobsHot
                SET
                    Payload = CASE WHEN @ClearPayload = 0 THEN COALESCE(@Payload, Payload) END,
                    Tags = CASE WHEN @ClearTags = 0 THEN COALESCE(@Tags, Tags) END,
                    Priority = COALESCE(@Priority, Priority),
                    Revision = @Revision,
                    LastUpdatedUtc = SYSUTCDATETIME(),
                    LastModifiedBy = @Actor
                WHERE Id = @Id AND Status = 0 AND Revision = @OldRevision;

                IF @@ROWCOUNT = 1
                    SET @Outcome = 'updated';
            END;
            ELSE
                SET @Revision = CASE WHEN @Outcome <> 'not_found' THEN @OldRevision END;
        END;

        IF @Outcome = 'updated'
            INSERT INTO chokaq.OperatorHistory (Action, JobId, Queue, Type, Actor, OldPayload, OldTags, OldPriority)
            VALUES (
                N'edited',
                @Id,
                @Queue,
                @Type,
                @Actor,
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
                END,
                CASE WHEN @Priority <> @OldPriority THEN @OldPriority END
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

    SELECT @Outcome AS Outcome, @Revision AS Revision;
END;
