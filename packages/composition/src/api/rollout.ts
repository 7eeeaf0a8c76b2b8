import { isObject } from "@xfn/json";
import { map } from "../api-schema/list.ts";
import { type ObjectSchema, object } from "../api-schema/object.ts";
import { required, text, within } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import type { Rollout } from "./composition.ts";
import { duration } from "./duration.ts";
import type { WrittenRollout } from "./written.ts";

export const ROLLOUT_DEFAULTS: Pick<Rollout, "durationMs" | "maxFailures"> = {
  durationMs: 5 * 60 * 1000,
  maxFailures: 0,
};

const MAX_SHADOWS = 20;
const MAX_DURATION_MS = 24 * 60 * 60 * 1000;

const CANARY: ObjectSchema<WrittenRollout["canary"]> = object<WrittenRollout["canary"]>(
  { percent: within(1, 100), matchLabels: map(text()) },
  {
    rules: [["has(self.percent) != has(self.matchLabels)", "give either percent or matchLabels"]],
    check: checkCanary,
  },
);

function checkCanary(canary: FieldReader): void {
  const labels = canary.value("matchLabels");
  if ((canary.value("percent") === undefined) === (labels === undefined))
    canary.error("Invalid", "percent", "give either percent or matchLabels");
  else if (isObject(labels) && Object.keys(labels).length === 0)
    canary.error("Required", "matchLabels", "is empty; name a label of the first composite resources");
}

/** How a new revision of a Composition reaches its XRs. */
export const ROLLOUT: ObjectSchema<WrittenRollout> = object<WrittenRollout>({
  shadow: object<NonNullable<WrittenRollout["shadow"]>>({
    composites: required(within(1, MAX_SHADOWS), "the number of composite resources to compose in shadow"),
  }),
  canary: required(CANARY, "the composite resources that get a new revision first: percent or matchLabels"),
  analysis: object<NonNullable<WrittenRollout["analysis"]>>({
    duration: duration("leave it out for the default of 5m", MAX_DURATION_MS, "is longer than 24h"),
    maxFailures: within(0, 1_000_000),
  }),
});
