// Written by `xfn types examples/conditional/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XWebApp": XWebApp;
  }
}

export interface XWebApp {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XWebApp";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    namespace: string;
    image: string;
    /** Highest number of replicas of the autoscaler. Without it, there is no autoscaler. */
    maxReplicas?: number;
  };
}
