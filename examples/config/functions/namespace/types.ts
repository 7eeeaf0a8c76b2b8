// Written by `xfn types examples/config/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XTeam": XTeam;
  }
}

export interface XTeam {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XTeam";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    /** One of the sizes that the platform team offers. */
    size: string;
  };
}
