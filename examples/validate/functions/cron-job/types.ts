// Written by `xfn types examples/validate/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XSchedule": XSchedule;
  }
}

export interface XSchedule {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XSchedule";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    namespace: string;
    /** Schedule in cron's syntax. */
    at: string;
    image: string;
  };
}
