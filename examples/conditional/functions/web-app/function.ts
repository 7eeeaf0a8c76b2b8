import { compose } from "@xfn/functionio/sdk";
import type { XWebApp } from "./types.ts";

export default compose<XWebApp>(({ xr, desired }) => {
  const { name } = xr.metadata;
  const { namespace, image, maxReplicas } = xr.spec;
  const labels = { "app.kubernetes.io/name": name };

  desired.apply(
    "deployment",
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "app", image }] } },
      },
    },
    { readinessChecks: [{ type: "MatchCondition", matchCondition: { type: "Available", status: "True" } }] },
  );

  if (maxReplicas !== undefined) {
    desired.apply(
      "autoscaler",
      {
        apiVersion: "autoscaling/v2",
        kind: "HorizontalPodAutoscaler",
        metadata: { name, namespace },
        spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name }, minReplicas: 2, maxReplicas },
      },
      { readinessChecks: [{ type: "MatchCondition", matchCondition: { type: "AbleToScale", status: "True" } }] },
    );
  }

  // Otherwise delete an autoscaler that still exists.
  desired.prune((entry) => entry.name === "autoscaler");
});
