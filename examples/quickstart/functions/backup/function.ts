import { compose } from "@xfn/functionio/sdk";
import type { XDatabase } from "./types.ts";

/** The `input` of the step. */
interface Input {
  /** A cron expression with seconds. */
  schedule: string;
}

// Backs up the cluster of the database on a schedule (https://cloudnative-pg.io). The Composition runs it as a function
// package: the image is a gRPC server, which Crossplane 1.14 and later run too.
export default compose<XDatabase, Input>(({ xr, config, desired }) => {
  const { name } = xr.metadata;
  const { namespace } = xr.spec;

  desired.apply(
    "backup",
    {
      apiVersion: "postgresql.cnpg.io/v1",
      kind: "ScheduledBackup",
      metadata: { name, namespace },
      spec: { schedule: config.schedule, cluster: { name }, backupOwnerReference: "cluster" },
    },
    { readinessChecks: [{ type: "None" }] },
  );
});
