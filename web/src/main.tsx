import { render } from 'preact';

import { address, go, place, toView } from './state';
import './style.css';
import { accuracy } from './views/accuracy';
import { collectives } from './views/collectives';
import { kv } from './views/kv';
import { machine } from './views/machine';
import { model } from './views/model';
import { overlap } from './views/overlap';
import { power } from './views/power';
import type { View } from './views/view';

const VIEWS: View[] = [overlap, collectives, model, kv, power, machine, accuracy];

function App() {
  const view = VIEWS.find((one) => one.id === place.value.view) ?? overlap;
  document.title = `${view.title} – Cortado explorer`;
  const Show = view.show;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById('main')?.focus();
      }}>
        Skip to the answer
      </a>
      <header>
        <h1>Cortado explorer</h1>
        <nav aria-label="Views">
          {VIEWS.map((one) => (
            <a
              key={one.id}
              href={address(toView(one.id))}
              aria-current={one === view ? 'page' : undefined}
              onClick={(event) => {
                event.preventDefault();
                go(toView(one.id));
              }}
            >
              {one.title}
            </a>
          ))}
        </nav>
        <p class="note">All numbers are predicted. The simulator runs in this page; nothing leaves the browser.</p>
      </header>
      <main id="main" tabIndex={-1}>
        <h2>{view.title}</h2>
        <p>{view.about}</p>
        <Show key={view.id} />
      </main>
      <footer class="note">
        Cortado is under the MIT licence; <a href="licenses.txt">licences of the libraries</a> in this page.
      </footer>
    </>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
