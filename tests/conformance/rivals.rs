//! Two sessions in lock step: one holds rows in its open transaction, the other calls.

use chokaq_tests::{Args, Db, Result, Rows, Session};

/// How the holder's transaction ends.
#[derive(Clone, Copy)]
pub enum End {
    Commit,
    Rollback,
}

impl End {
    pub async fn of(self, holder: &mut Session) -> Result<()> {
        match self {
            Self::Commit => holder.commit().await?,
            Self::Rollback => holder.rollback().await?,
        }
        Ok(())
    }
}

/// A call that must wait for the holder: its transaction ends once the rival is seen to wait.
pub async fn while_held(
    db: &Db<'_>,
    (holder, end): (&mut Session, End),
    rival: &mut Session,
    (procedure, args): (&str, Args),
) -> Result<Rows> {
    let id = rival.id().await?;
    let release = async {
        db.until_blocked(id).await?;
        end.of(holder).await
    };
    let call = async { Ok::<_, anyhow::Error>(rival.call(procedure, args).await?) };
    let (rows, ()) = tokio::try_join!(call, release)?;
    Ok(rows)
}

/// A call that must not wait for the holder, whose transaction ends after it. A server that ignores the hint to
/// skip locked rows waits; there the transaction ends first.
pub async fn beside(
    db: &Db<'_>,
    (holder, end): (&mut Session, End),
    rival: &mut Session,
    (procedure, args): (&str, Args),
) -> Result<Rows> {
    if !rival.heeds_lock_hints() {
        return while_held(db, (holder, end), rival, (procedure, args)).await;
    }
    let rows = rival.call(procedure, args).await?;
    end.of(holder).await?;
    Ok(rows)
}
