/** Told of each reconcile that has ended: of what kind, how, and how long it ran, in milliseconds. */
export type ReconcileWatcher = (kind: string, failed: boolean, ms: number) => void;
