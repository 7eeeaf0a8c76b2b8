import type { Scenario } from "../scenario.ts";
import { CLAIMS } from "./claims.ts";
import { COMPOSITES } from "./composites.ts";
import { COMPOSITIONS } from "./compositions.ts";
import { DEFINITIONS } from "./definitions.ts";
import { FUNCTIONS } from "./functions.ts";
import { INSTALLED } from "./installed.ts";
import { NAMESPACED } from "./namespaced.ts";
import { OPERATIONS } from "./operations.ts";
import { PACKAGES } from "./packages.ts";
import { PUBLICATIONS } from "./publications.ts";
import { USES } from "./usages.ts";

/** All scenarios. */
export const SCENARIOS: readonly Scenario[] = [
  ...COMPOSITES,
  ...NAMESPACED,
  ...COMPOSITIONS,
  ...FUNCTIONS,
  ...PACKAGES,
  ...INSTALLED,
  ...OPERATIONS,
  ...CLAIMS,
  ...DEFINITIONS,
  ...PUBLICATIONS,
  ...USES,
];
