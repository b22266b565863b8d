/*
chokaq.usp_ListDLQ: the jobs of the DLQ that a filter leaves, newest first, page by page

Twin         postgres/list_dlq.sql
Result       a row per job: all but Payload and ErrorDetails in full; PayloadPreview and ErrorPreview (200 characters),
             PayloadLength (UTF-16 code units); a row that somebody is just moving or editing may be missing
Errors       59001
Transaction  reading
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_ListDLQ @Queue = N'mail', @Search = N'subject';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ListDLQ
    @Queue NVARCHAR(4000) = NULL,
    @Type NVARCHAR(4000) = NULL,
    @FailureReason INT = NULL,
    @FromUtc DATETIME2(7) = NULL, /* FailedAtUtc at or after */
    @ToUtc DATETIME2(7) = NULL, /* FailedAtUtc before */
    @Search NVARCHAR(MAX) = NULL, /* a substring of id, type, tags, error or payload; no wildcards */
    @Limit INT = 100, /* 1-1000 */
    @BeforeFailedAtUtc DATETIME2(7) = NULL, /* FailedAtUtc and JobId of the last row of the page before */
    @BeforeJobId NVARCHAR(4000) = NULL
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
        @IsRequired = 0;

    IF @Limit IS NULL OR @Limit NOT BETWEEN 1 AND 1000
        THROW 59001, N'@Limit must be 1 to 1000.', 1;

    IF @BeforeJobId IS NOT NULL AND @BeforeFailedAtUtc IS NULL
        THROW 59001, N'@BeforeFailedAtUtc must be given with @BeforeJobId.', 1;

    IF chokaq.fn_Utf16Length(@BeforeJobId) > 50
        THROW 59001, N'@BeforeJobId must be NULL or at most 50 characters.', 1;

    /* Locals of the columns' types: a wider parameter on the other side of = would keep the indexes from being sought. */
    DECLARE
        @BeforeId NVARCHAR(50) = COALESCE(@BeforeJobId, N''),
        @QueueName NVARCHAR(255) = @Queue,
        @Reason TINYINT = @FailureReason,
        @TypeName NVARCHAR(255) = @Type;

    /* A preview never ends in the first half of a surrogate pair: a driver would refuse the whole page. */
    SELECT TOP (@Limit)
        d.Id AS JobId,
        d.Queue,
        d.Type,
        d.Tags,
        d.IdempotencyKey,
        d.Priority,
        d.AttemptCount,
        d.WorkerId,
        d.FailureReason,
        r.Name AS FailureReasonName,
        d.FailedAtUtc,
        d.ScheduledAtUtc,
        d.StartedAtUtc,
        d.HeartbeatUtc,
        d.CreatedAtUtc,
        d.CreatedBy,
        d.LastUpdatedUtc,
        d.LastModifiedBy,
        d.ResurrectCount,
        d.Revision,
        LEFT(
            d.Payload,
            CASE WHEN UNICODE(SUBSTRING(d.Payload, 200, 1)) BETWEEN 55296 AND 56319 THEN 199 ELSE 200 END
        ) AS PayloadPreview,
        LEFT(
            d.ErrorDetails,
            CASE WHEN UNICODE(SUBSTRING(d.ErrorDetails, 200, 1)) BETWEEN 55296 AND 56319 THEN 199 ELSE 200 END
        ) AS ErrorPreview,
        CONVERT(
            INT,
            CASE
                /* The bytes of a database whose text is UTF-8 do not tell; elsewhere they do, and no payload is copied. */
                WHEN DATALENGTH(N'x') = 1 THEN LEN(d.Payload + N'x') - 1
                ELSE DATALENGTH(d.Payload) / 2
            END
        ) AS PayloadLength
    FROM chokaq.JobsDLQ AS d WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    LEFT JOIN chokaq.FailureReasons AS r ON r.FailureReason = d.FailureReason
    WHERE (@QueueName IS NULL OR d.Queue = @QueueName)
        AND (@TypeName IS NULL OR d.Type = @TypeName)
        AND (@Reason IS NULL OR d.FailureReason = @Reason)
        AND (@FromUtc IS NULL OR d.FailedAtUtc >= @FromUtc)
        AND (@ToUtc IS NULL OR d.FailedAtUtc < @ToUtc)
        /* The first line is the seek, the second the rest of the key. */
        AND (@BeforeFailedAtUtc IS NULL OR d.FailedAtUtc <= @BeforeFailedAtUtc)
        AND (@BeforeFailedAtUtc IS NULL OR d.FailedAtUtc < @BeforeFailedAtUtc OR d.Id < @BeforeId)
        AND (
            @Search IS NULL
            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, d.Id) > 0
            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, d.Type) > 0
            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, d.Tags) > 0
            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, d.ErrorDetails) > 0
            OR CHARINDEX(@Search COLLATE Latin1_General_BIN2, d.Payload) > 0
        )
    ORDER BY d.FailedAtUtc DESC, d.Id DESC
    /* A plan for the filters that are given: each has its own index. */
    OPTION (RECOMPILE);
END;
