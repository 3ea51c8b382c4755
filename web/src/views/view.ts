// A view is a name and a component; its fields and words stand beside it.
import type { FunctionComponent } from 'preact';

export interface View {
  id: string;
  title: string;
  about: string;
  show: FunctionComponent;
}
