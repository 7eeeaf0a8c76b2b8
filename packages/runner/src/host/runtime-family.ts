/** The command line and extensions of an OCI runtime; `other`: only those that crun and runc share. */
export type RuntimeFamily = "crun" | "runc" | "youki" | "runsc" | "other";
