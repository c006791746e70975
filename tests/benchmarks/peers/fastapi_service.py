"""A service as people write it: FastAPI, and a scikit-learn pipeline. `fastapi_service.py
TRAINING_FOLDER PORT`.
"""

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

paths = sorted(Path(sys.argv[1]).glob("*/*"))
pipeline = make_pipeline(CountVectorizer(), MultinomialNB(alpha=0.01))
pipeline.fit(
    [path.read_text(encoding="utf-8", errors="replace") for path in paths],
    [path.parent.name for path in paths],
)
app = FastAPI()


class Document(BaseModel):
    """A text."""

    text: str


@app.post("/v1/predict")
def predict(body: Document | list[Document]) -> list[dict[str, object]]:
    """Predict in a thread of FastAPI's pool."""
    documents = body if isinstance(body, list) else [body]
    rows = pipeline.predict_proba([document.text for document in documents])
    return [
        {
            "label": pipeline.classes_[row.argmax()],
            "scores": dict(zip(pipeline.classes_.tolist(), row.tolist(), strict=True)),
        }
        for row in rows
    ]


uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
