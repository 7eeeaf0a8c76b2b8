// Written by `xfn types examples/templates-and-function/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XWebsite": XWebsite;
  }
}

export interface XWebsite {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XWebsite";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    namespace: string;
    image: string;
    /** Host names of the website. */
    hosts?: string[];
  };
}
