import { compose } from "@xfn/functionio/sdk";

interface XBucket {
  apiVersion: "storage.example.org/v1";
  kind: "XBucket";
  metadata: { name: string };
  spec: { size?: string };
}

const REGION = "eu-west-1";

// A ConfigMap stands in for a bucket, so that the example needs no cloud.
export default compose<XBucket>(({ xr, desired }) => {
  const { name } = xr.metadata;
  desired.apply(
    "bucket",
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default" },
      data: { region: REGION, size: xr.spec.size ?? "1Gi" },
    },
    { readinessChecks: [{ type: "None" }] },
  );
});
