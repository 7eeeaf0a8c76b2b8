import { invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import cronJob from "./function.ts";

test("the image runs on the schedule", async () => {
  const xr = { metadata: { name: "report" }, spec: { namespace: "reports", at: "30 4 * * *", image: "report:1" } };
  const { desired } = await invoke(cronJob, { xr });
  expect(desired["cron-job"]).toMatchObject({
    metadata: { name: "report", namespace: "reports" },
    spec: {
      schedule: "30 4 * * *",
      jobTemplate: { spec: { template: { spec: { containers: [{ image: "report:1" }] } } } },
    },
  });
});
