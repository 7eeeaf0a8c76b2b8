// The controllers of xfn: definitions, compositions, composite resources and claims in a Kubernetes API server.
export type { ComposedWatches, Context } from "./context.ts";
export type { Logger } from "./log.ts";
