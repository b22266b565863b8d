/*
chokaq.fn_ExplainMiss: why a finaliser found no job under this worker and attempt

Twin         postgres/explain_miss.sql
Result       not_found | not_owner | not_processing | stale_attempt, or already_archived (@Pillar 'Archive') and
             already_moved (@Pillar 'DLQ', which takes a job in any status), or NULL when nothing is in the way any more
*/
CREATE OR ALTER FUNCTION chokaq.fn_ExplainMiss (
    @JobId NVARCHAR(50),
    @WorkerId NVARCHAR(100),
    @Attempt INT,
    @ResurrectCount INT,
    @Pillar VARCHAR(10)
)
RETURNS VARCHAR(20)
AS
BEGIN
    DECLARE @Outcome VARCHAR(20);

    IF EXISTS (SELECT 1 FROM chokaq.JobsHot AS h WHERE h.Id = @JobId)
    BEGIN
        SELECT
            @Outcome = CASE
                WHEN h.WorkerId <> @WorkerId THEN 'not_owner'
                WHEN h.Status <> 2 AND COALESCE(@Pillar, '') <> 'DLQ' THEN 'not_processing'
                WHEN h.WorkerId IS NULL AND @WorkerId IS NOT NULL THEN 'not_owner'
                WHEN h.AttemptCount <> @Attempt OR h.ResurrectCount <> @ResurrectCount THEN 'stale_attempt'
            END
        FROM chokaq.JobsHot AS h
        WHERE h.Id = @JobId;

        RETURN @Outcome;
    END;

    /* Only a repeat by the same owner is told that it was done: whoever asks under another name or attempt did not do it. */
    SELECT
        @Outcome = CASE
            WHEN @WorkerId IS NOT NULL AND (e.WorkerId IS NULL OR e.WorkerId <> @WorkerId) THEN 'not_owner'
            WHEN e.AttemptCount <> @Attempt OR e.ResurrectCount <> @ResurrectCount THEN 'stale_attempt'
            ELSE e.Outcome
        END
    FROM (
        SELECT a.WorkerId, a.AttemptCount, a.ResurrectCount, 'already_archived' AS Outcome
        FROM chokaq.JobsArchive AS a
        WHERE a.Id = @JobId AND @Pillar = 'Archive'
        UNION ALL
        SELECT d.WorkerId, d.AttemptCount, d.ResurrectCount, 'already_moved'
        FROM chokaq.JobsDLQ AS d
        WHERE d.Id = @JobId AND @Pillar = 'DLQ'
    ) AS e;

    RETURN COALESCE(@Outcome, 'not_found');
END;
