// Written by `xfn types examples/loop/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XDiskPool": XDiskPool;
  }
}

export interface XDiskPool {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XDiskPool";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    namespace: string;
    /** Number of disks. */
    count: number;
    /** Size of each disk, such as 50Gi. */
    size: string;
  };
}
