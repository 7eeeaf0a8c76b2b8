import { compose } from "@xfn/functionio/sdk";
import type { XDevBox } from "./types.ts";

export default compose<XDevBox>(({ xr, desired }) => {
  const { name } = xr.metadata;
  const { namespace, image, running } = xr.spec;

  // Always desire the disk: its data outlives the machine.
  desired.apply(
    "disk",
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "20Gi" } } },
    },
    { readinessChecks: [{ type: "MatchString", fieldPath: "status.phase", matchString: "Bound" }] },
  );

  if (running) {
    desired.apply("machine", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace },
      spec: {
        containers: [{ name: "dev-box", image, volumeMounts: [{ name: "home", mountPath: "/home" }] }],
        volumes: [{ name: "home", persistentVolumeClaim: { claimName: name } }],
      },
    });
  } else {
    desired.delete("machine");
  }
});
