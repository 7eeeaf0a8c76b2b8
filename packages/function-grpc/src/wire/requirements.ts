import { type Message, map, message, optional, text, value } from "@xfn/protobuf";

export interface MatchLabels {
  labels: Map<string, string>;
}

export const MatchLabels: Message<MatchLabels> = message("MatchLabels", { labels: map(1, text) });

/** Selects resources of a kind by name or by labels. */
export interface ResourceSelector {
  apiVersion: string;
  kind: string;
  matchName?: string | undefined;
  matchLabels?: MatchLabels | undefined;
  /** Absent: cluster-scoped resources, or resources of all namespaces. */
  namespace?: string | undefined;
}

export const ResourceSelector: Message<ResourceSelector> = message("ResourceSelector", {
  apiVersion: value(1, text),
  kind: value(2, text),
  matchName: optional(3, text),
  matchLabels: optional(4, MatchLabels),
  namespace: optional(5, text),
});

/** Selects the schema of a kind. */
export interface SchemaSelector {
  apiVersion: string;
  kind: string;
}

export const SchemaSelector: Message<SchemaSelector> = message("SchemaSelector", {
  apiVersion: value(1, text),
  kind: value(2, text),
});

/** The objects and schemas that a function needs. The caller runs the function again with them. */
export interface Requirements {
  /** The form of `resources` in Crossplane 1.x. */
  extraResources: Map<string, ResourceSelector>;
  resources: Map<string, ResourceSelector>;
  schemas: Map<string, SchemaSelector>;
}

export const Requirements: Message<Requirements> = message("Requirements", {
  extraResources: map(1, ResourceSelector),
  resources: map(2, ResourceSelector),
  schemas: map(3, SchemaSelector),
});
