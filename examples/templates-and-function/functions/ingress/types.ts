// Written by `xfn types`. Do not edit: run it again when the definitions change.

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
    /** The names under which the website is reached. */
    hosts?: string[];
  };
}
