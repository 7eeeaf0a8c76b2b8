import type { Scenario } from "../scenario.ts";
import { CLAIMS } from "./claims.ts";
import { COMPOSITES } from "./composites.ts";
import { COMPOSITIONS } from "./compositions.ts";
import { DEFINITIONS } from "./definitions.ts";
import { FUNCTIONS } from "./functions.ts";

/** All scenarios. */
export const SCENARIOS: readonly Scenario[] = [...COMPOSITES, ...COMPOSITIONS, ...FUNCTIONS, ...CLAIMS, ...DEFINITIONS];
