import type { JsonObject } from "@xfn/functionio";
import {
  ANY,
  ANY_OBJECT,
  ANY_TEXT,
  choice,
  EMBEDDED_OBJECT,
  list,
  NAMED,
  name,
  object,
  type Rule,
  text,
} from "./schema-parts.ts";

// The fields of functions and pipeline steps (seed 000, "Overview").

/** As Go's durations are written, and not zero. */
const DURATION = text(64, { pattern: "^\\+?(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$" });
/** As Kubernetes' quantities are written, without a sign and with a digit that is not 0: limits are more than zero. */
const QUANTITY: JsonObject = {
  "x-kubernetes-int-or-string": true,
  minimum: 1,
  pattern:
    "^\\+?([0-9]*[1-9][0-9]*(\\.[0-9]*)?|[0-9]*\\.[0-9]*[1-9][0-9]*)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$",
};

/** As the seed writes it, or as Crossplane v1.13 does. */
const NETWORK: JsonObject = {
  ...ANY,
  enum: ["Isolated", "Accessible", { policy: "Isolated" }, { policy: "Accessible" }, { policy: "Runner" }],
};

const CONTAINER = object(
  {
    image: name(1024),
    imagePullPolicy: choice("IfNotPresent", "Always", "Never"),
    imagePullSecrets: list(object({ name: name(), namespace: name(63) }, ["name"])),
    timeout: DURATION,
    network: NETWORK,
    resources: object({
      limits: object({ memory: QUANTITY, cpu: QUANTITY }),
      requests: { type: "object", additionalProperties: ANY },
    }),
    runner: object({ endpoint: ANY_TEXT }),
  },
  ["image"],
  [
    [
      "!has(self.timeout) || (duration(self.timeout) > duration('0s') && duration(self.timeout) <= duration('596h'))",
      "timeout must be more than zero, and at most 596h",
    ],
  ],
);

const FUNCTION_RULES: readonly Rule[] = [
  ["self.type == 'Container'", "type: only Container is supported so far"],
  ["self.type != 'Container' || has(self.container)", "container is missing: the image to run, as container.image"],
];

/** Functions, in their order. */
export const FUNCTIONS: JsonObject = list(
  object(
    {
      name: text(253),
      type: choice("Container", "Webhook", "Chroot"),
      config: EMBEDDED_OBJECT,
      container: CONTAINER,
    },
    ["name", "type"],
    FUNCTION_RULES,
  ),
  64,
  [["self.all(one, self.exists_one(other, other.name == one.name))", "names of functions are unique"]],
);

/** The steps of `mode: Pipeline` (Crossplane v1.14). */
export const PIPELINE: JsonObject = list(
  object(
    {
      step: name(253),
      functionRef: NAMED,
      input: EMBEDDED_OBJECT,
      credentials: list(ANY_OBJECT),
    },
    ["step", "functionRef"],
  ),
  64,
  [["self.all(one, self.exists_one(other, other.step == one.step))", "names of steps are unique"]],
);
