/** Whose command line and extensions an OCI runtime has; `other`: only what crun and runc have in common. */
export type RuntimeFamily = "crun" | "runc" | "youki" | "runsc" | "other";
