//! `embed_migrations!` reads the folders while the crate compiles; cargo must look at them too.

fn main() {
    println!("cargo:rerun-if-changed=../migrations/mssql");
    println!("cargo:rerun-if-changed=../migrations/postgres");
}
