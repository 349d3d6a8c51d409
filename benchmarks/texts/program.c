struct entry { int key; char* name; struct entry* next; };
struct heap { struct entry** items; size_t used, room; };
enum colour { RED, GREEN = 5, BLUE };

static const int limits[4] = {1, 10, 100, 1000};
unsigned long counter = 0x1fUL;

static unsigned long hash(const char* text) {
  unsigned long sum = 5381;
  int letter;
  while ((letter = *text++)) sum = ((sum << 5) + sum) ^ (unsigned long) letter;
  return sum % 1024;
}

int compare(struct entry* one, struct entry* other) {
  if (one->key < other->key) return -1;
  return one->key > other->key ? 1 : 0;
}

void swap(struct entry** one, struct entry** other) {
  struct entry* kept = *one;
  *one = *other;
  *other = kept;
}

/* Move the last item up to its place. */
void push(struct heap* heap, struct entry* item) {
  size_t at = heap->used++;
  if (heap->used > heap->room) {
    heap->room = heap->room ? 2 * heap->room : 16;
    heap->items = (struct entry**) realloc(heap->items, heap->room * sizeof(struct entry*));
  }
  heap->items[at] = item;
  while (at > 0 && compare(heap->items[at], heap->items[(at - 1) / 2]) < 0) {
    swap(&heap->items[at], &heap->items[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
}

struct entry* pop(struct heap* heap) {
  struct entry* top;
  size_t at = 0, child;
  if (!heap->used) return 0;
  top = heap->items[0];
  heap->items[0] = heap->items[--heap->used];
  for (;;) {
    child = 2 * at + 1;
    if (child >= heap->used) break;
    if (child + 1 < heap->used && compare(heap->items[child + 1], heap->items[child]) < 0) child++;
    if (compare(heap->items[at], heap->items[child]) <= 0) break;
    swap(&heap->items[at], &heap->items[child]);
    at = child;
  }
  return top;
}

double mean(double* values, int count) {
  double sum = 0.0;
  int i;
  for (i = 0; i < count; i++) sum += values[i];
  return count ? sum / count : -1.5e-3;
}

int classify(char letter) {
  switch (letter) {
    case 'a': case 'e': case 'i': case 'o': case 'u': return 1;
    case ' ': case '\n': case '\t': return 2;
    default: if (letter >= '0' && letter <= '9') return 3; else return 4;
  }
}

int main(int argc, char** argv) {
  struct heap heap = {0, 0, 0};
  char* words[] = {"some", "words \"quoted\"", "and a\\tab", ""};
  int round = 0, failed = 0;
  do {
    struct entry* made = (struct entry*) malloc(sizeof(struct entry));
    made->key = (round * 7919) % 104729 & ~1;
    made->name = words[round % 4];
    made->next = 0;
    if (!made) goto out;
    push(&heap, made);
    counter += hash(made->name) | round;
  } while (++round < limits[3]);
  for (struct entry* each = pop(&heap); each; each = pop(&heap)) {
    if (each->key % 2 != 0) { failed++; continue; }
    printf("%d %s\n", each->key, each->name);
    free(each);
  }
out:
  free(heap.items);
  return failed == 0 && argc > 0 ? 0 : 1;
}
