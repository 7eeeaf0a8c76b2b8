import { compose } from "@xfn/functionio/sdk";
import type { XSchedule } from "./types.ts";

export default compose<XSchedule>(({ xr, desired }) => {
  const { name } = xr.metadata;
  const { namespace, at, image } = xr.spec;
  const pod = { restartPolicy: "Never", containers: [{ name: "job", image }] };

  desired.apply(
    "cron-job",
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name, namespace },
      spec: { schedule: at, jobTemplate: { spec: { template: { spec: pod } } } },
    },
    { readinessChecks: [{ type: "None" }] },
  );
});
