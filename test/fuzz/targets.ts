import type { Target } from "./target.ts";

/** The targets by name. */
export const TARGETS: Readonly<Record<string, () => Promise<Target>>> = {
  "field-path": async () => (await import("./targets/field-path.ts")).fieldPathText,
  "field-path-use": async () => (await import("./targets/field-path.ts")).fieldPathUse,
  transforms: async () => (await import("./targets/transforms.ts")).transforms,
  format: async () => (await import("./targets/transforms.ts")).format,
  regexp: async () => (await import("./targets/transforms.ts")).regexp,
  quantity: async () => (await import("./targets/scalars.ts")).quantity,
  duration: async () => (await import("./targets/scalars.ts")).duration,
  documents: async () => (await import("./targets/documents.ts")).documents,
  functionio: async () => (await import("./targets/documents.ts")).functionIO,
  "resource-list": async () => (await import("./targets/documents.ts")).resourceList,
  observed: async () => (await import("./targets/observed.ts")).observed,
  composition: async () => (await import("./targets/composition.ts")).composition,
  templates: async () => (await import("./targets/composition.ts")).templates,
  definition: async () => (await import("./targets/definition.ts")).definition,
  schema: async () => (await import("./targets/schema.ts")).schema,
  cel: async () => (await import("./targets/schema.ts")).cel,
  constraint: async () => (await import("./targets/packages.ts")).constraint,
  "package-contents": async () => (await import("./targets/packages.ts")).packageContents,
  lock: async () => (await import("./targets/packages.ts")).lock,
  recording: async () => (await import("./targets/recordings.ts")).recording,
};

/** The weights of targets. Cheap ones run more often. */
export const WEIGHTS: Readonly<Record<string, number>> = {
  "field-path": 12,
  "field-path-use": 15,
  transforms: 15,
  format: 15,
  regexp: 5,
  quantity: 8,
  duration: 5,
  documents: 5,
  functionio: 4,
  "resource-list": 4,
  observed: 4,
  composition: 3,
  templates: 4,
  definition: 2,
  schema: 3,
  cel: 3,
  constraint: 5,
  "package-contents": 3,
  lock: 3,
  recording: 1,
};
