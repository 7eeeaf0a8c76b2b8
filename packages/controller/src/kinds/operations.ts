import { OPERATION_API_VERSION, OPERATION_SPEC_OPEN_API } from "@xfn/composition";
import type { JsonObject } from "@xfn/json";
import { PACKAGE_STEPS } from "./composition-descriptions.ts";
import { AGE, column, conditionColumn, defineKind, type Kind } from "./define-kind.ts";
import { described, within } from "./describe.ts";
import {
  anyFields,
  choice,
  count,
  type Field,
  integer,
  list,
  record,
  type Texts,
  text,
  textMap,
  time,
} from "./fields.ts";
import { status } from "./status.ts";
import type { View } from "./view.ts";

// The kinds that run functions once (https://docs.crossplane.io/latest/operations/).

/** The fields that the controller reads from Operations. @xfn/composition parses their spec. */
interface Operation {
  readonly status: View & {
    readonly failures: number | undefined;
    readonly attempts: number | undefined;
    readonly pipeline: readonly (View & Texts<"step">)[];
    readonly appliedResourceRefs: readonly View[];
  };
}

export type ConcurrencyPolicy = "Allow" | "Forbid" | "Replace";

/** The fields that CronOperations and WatchOperations share. */
export interface RunsSpec {
  readonly concurrencyPolicy: ConcurrencyPolicy | undefined;
  readonly successfulHistoryLimit: number | undefined;
  readonly failedHistoryLimit: number | undefined;
  readonly operationTemplate: View & {
    readonly metadata: {
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations: Readonly<Record<string, string>>;
    };
    readonly spec: View;
  };
}

interface CronOperation {
  readonly spec: View & RunsSpec & Texts<"schedule"> & { readonly startingDeadlineSeconds: number | undefined };
  readonly status: View & Texts<"lastScheduleTime" | "lastSuccessfulTime">;
}

interface WatchOperation {
  readonly spec: View &
    RunsSpec & {
      readonly watch: Texts<"apiVersion" | "kind" | "namespace"> & {
        readonly matchLabels: Readonly<Record<string, string>>;
      };
    };
  readonly status: View & Texts<"lastScheduleTime" | "lastSuccessfulTime">;
}

const [GROUP = "", VERSION = ""] = OPERATION_API_VERSION.split("/");

const STEPS = within("pipeline", "has the steps, in order.", PACKAGE_STEPS);
const spec = (description: string): Field<View> =>
  described<View>(description, OPERATION_SPEC_OPEN_API, {
    ...STEPS,
    mode: "is Pipeline: the steps of pipeline run.",
    retryLimit: "is the number of failed attempts after which the Operation has failed. Defaults to 5.",
  });

export const OPERATIONS: Kind<Operation> = defineKind({
  group: GROUP,
  kind: "Operation",
  shortNames: ["ops"],
  versions: [VERSION],
  about: "An Operation runs functions once, and applies the objects that they desire.",
  fields: {
    "spec!": spec("is the functions, and how often a failed attempt is repeated."),
    status: status({
      failures: count(
        "is the number of failed attempts. An attempt that a restart of the controller ended counts as one.",
      ),
      attempts: count("is the number of attempts that have started."),
      pipeline: list("has the output of the steps.", {
        "step!": text("is the name of the step."),
        output: anyFields("is the output of the step's function."),
      }),
      appliedResourceRefs: list("are the objects that the Operation applied.", {
        "apiVersion!": text("is the API version of the object."),
        "kind!": text("is the kind of the object."),
        namespace: text("is the namespace of the object."),
        "name!": text("is the name of the object."),
      }),
    }),
  },
  columns: [conditionColumn("SYNCED", "Synced"), conditionColumn("SUCCEEDED", "Succeeded"), AGE],
});

const RUNS = {
  concurrencyPolicy: choice(
    "determines what happens while an earlier Operation runs: Allow, the default, Forbid, which skips the new one, or Replace, which deletes the earlier one.",
    ["Allow", "Forbid", "Replace"],
    { default: "Allow" },
  ),
  successfulHistoryLimit: count("is the number of succeeded Operations that are kept.", { default: 3 }),
  failedHistoryLimit: count("is the number of failed Operations that are kept.", { default: 1 }),
  "operationTemplate!": record("is the template of the Operations.", {
    metadata: record("has the metadata of the Operations.", {
      labels: textMap("are labels of the Operations."),
      annotations: textMap("are annotations of the Operations."),
    }),
    "spec!": spec("is the spec of the Operations."),
  }),
} as const;

const RUNS_STATUS = {
  runningOperationRefs: list("are the Operations that have not ended.", {
    "name!": text("is the name of the Operation."),
  }),
  lastScheduleTime: time("is the time at which the last Operation was created."),
  lastSuccessfulTime: time("is the time at which an Operation last succeeded."),
};

const LAST_COLUMNS: JsonObject[] = [
  { name: "LAST SCHEDULE", type: "date", jsonPath: ".status.lastScheduleTime" },
  { name: "LAST SUCCESS", type: "date", jsonPath: ".status.lastSuccessfulTime" },
];

/** Five fields, or a descriptor, after an optional time zone. The controller checks the values. */
const SCHEDULE_RULE = {
  rule: "self.matches('^((CRON_)?TZ=[^ ]+ +)?(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every +[^ ]+|([^ ]+ +){4}[^ ]+)$')",
  message:
    "must have five fields, such as 0 3 * * 1-5, or be @every with a duration, or @daily and the like; TZ=ZONE may precede it",
};

export const CRON_OPERATIONS: Kind<CronOperation> = defineKind({
  group: GROUP,
  kind: "CronOperation",
  shortNames: ["cronops"],
  versions: [VERSION],
  about: "A CronOperation creates Operations on a schedule.",
  fields: {
    "spec!": record("is the schedule, and the template of the Operations.", {
      "schedule!": text(
        "is the schedule: a cron expression of five fields in UTC or after TZ=ZONE, @every DURATION, or @daily.",
        {
          minLength: 1,
          maxLength: 256,
          "x-kubernetes-validations": [SCHEDULE_RULE],
        },
      ),
      startingDeadlineSeconds: integer("is how late an Operation may start, in seconds. Defaults to any time.", {
        minimum: 0,
      }),
      ...RUNS,
    }),
    status: status(RUNS_STATUS),
  },
  columns: [
    column("SCHEDULE", ".spec.schedule"),
    conditionColumn("SYNCED", "Synced"),
    conditionColumn("SCHEDULING", "Scheduling"),
    ...LAST_COLUMNS,
    AGE,
  ],
});

const immutable = (field: string): JsonObject => ({
  minLength: 1,
  maxLength: 317,
  "x-kubernetes-validations": [{ rule: "self == oldSelf", message: `${field} is immutable` }],
});

export const WATCH_OPERATIONS: Kind<WatchOperation> = defineKind({
  group: GROUP,
  kind: "WatchOperation",
  shortNames: ["watchops"],
  versions: [VERSION],
  about: "A WatchOperation creates an Operation for each change of the objects that it watches.",
  fields: {
    "spec!": record("is the watched objects, and the template of the Operations.", {
      "watch!": record("selects the watched objects.", {
        "apiVersion!": text("is the API version of the objects.", immutable("apiVersion")),
        "kind!": text("is the kind of the objects.", immutable("kind")),
        matchLabels: textMap("are the labels of the objects. Defaults to all objects of the kind."),
        namespace: text("is the namespace of the objects. Defaults to all namespaces."),
      }),
      ...RUNS,
    }),
    status: status({ ...RUNS_STATUS, watchingResources: count("is the number of watched objects.") }),
  },
  columns: [
    column("KIND", ".spec.watch.kind"),
    { name: "COUNT", type: "integer", jsonPath: ".status.watchingResources" },
    conditionColumn("SYNCED", "Synced"),
    conditionColumn("WATCHING", "Watching"),
    ...LAST_COLUMNS,
    AGE,
  ],
});

/** The kinds that `--enable-operations` enables. */
export const OPERATION_KINDS: readonly Kind<unknown>[] = [OPERATIONS, CRON_OPERATIONS, WATCH_OPERATIONS];
