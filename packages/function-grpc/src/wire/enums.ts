export const Capability = {
  CAPABILITY_UNSPECIFIED: 0,
  CAPABILITY_CAPABILITIES: 1,
  CAPABILITY_REQUIRED_RESOURCES: 2,
  CAPABILITY_CREDENTIALS: 3,
  CAPABILITY_CONDITIONS: 4,
  CAPABILITY_REQUIRED_SCHEMAS: 5,
} as const;
export type Capability = (typeof Capability)[keyof typeof Capability];

export const Ready = { READY_UNSPECIFIED: 0, READY_TRUE: 1, READY_FALSE: 2 } as const;
export type Ready = (typeof Ready)[keyof typeof Ready];

export const Severity = {
  SEVERITY_UNSPECIFIED: 0,
  SEVERITY_FATAL: 1,
  SEVERITY_WARNING: 2,
  SEVERITY_NORMAL: 3,
} as const;
export type Severity = (typeof Severity)[keyof typeof Severity];

export const Target = { TARGET_UNSPECIFIED: 0, TARGET_COMPOSITE: 1, TARGET_COMPOSITE_AND_CLAIM: 2 } as const;
export type Target = (typeof Target)[keyof typeof Target];

export const Status = {
  STATUS_CONDITION_UNSPECIFIED: 0,
  STATUS_CONDITION_UNKNOWN: 1,
  STATUS_CONDITION_TRUE: 2,
  STATUS_CONDITION_FALSE: 3,
} as const;
export type Status = (typeof Status)[keyof typeof Status];
